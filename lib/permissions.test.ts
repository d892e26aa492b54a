import { expect, test } from "vitest"
import { holds, type Permission, permissions, type Role, roles } from "@/lib/permissions"

test.each<[Role, Permission[]]>([
  ["owner", Object.keys(permissions) as Permission[]],
  ["admin", (Object.keys(permissions) as Permission[]).filter((name) => name !== "owners.manage")],
  [
    "analyst",
    [
      ...(["admin.access", "users.read", "billing.read", "credits.read", "audit.read", "email.read"] as const),
      ...(["feedback.read", "waitlist.read", "api_keys.manage"] as const),
    ],
  ],
  [
    "support",
    [
      ...(["admin.access", "users.read", "notes.manage", "email.read"] as const),
      ...(["feedback.read", "feedback.manage", "waitlist.read", "waitlist.manage"] as const),
    ],
  ],
  ["finance", ["admin.access", "billing.read", "credits.read", "api_keys.manage"]],
  ["bookkeeper", ["billing.read", "api_keys.manage"]],
  ["member", []],
])("the role %s holds exactly %j", (role, expected) => {
  expect([...roles[role]].sort()).toEqual([...expected].sort())
})

test.each(["superuser", "__proto__", "constructor", "toString", ""])(
  "the unknown role %j holds no permission",
  (role) => {
    for (const permission of Object.keys(permissions) as Permission[]) expect(holds(role, permission)).toBe(false)
  },
)
