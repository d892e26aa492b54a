import { provide } from "../provide"

export default () => provide("redis")
