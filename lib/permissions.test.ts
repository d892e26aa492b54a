import { expect, test } from "vitest"
import { holds, type Permission, permissions, roleNames } from "@/lib/permissions"
import { holders, roles } from "@/tests/http/access/tables"

test("every role holds the permissions of the table written by hand, and no others", () => {
  const held = Object.keys(permissions).map((name) => [
    name,
    roleNames.filter((role) => holds(role, name as Permission)).join(" "),
  ])
  expect(Object.fromEntries(held)).toEqual(holders)
  expect(roles).toEqual(roleNames)
})

test.each(["superuser", "__proto__", "constructor", "toString", ""])(
  "the unknown role %j holds no permission",
  (role) => {
    for (const permission of Object.keys(permissions) as Permission[]) expect(holds(role, permission)).toBe(false)
  },
)
