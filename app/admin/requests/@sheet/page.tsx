export { default } from "./default"
