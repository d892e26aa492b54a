import { provide } from "@/tests/support/provide"

export default () => provide("redis")
