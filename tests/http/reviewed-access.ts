import type { Permission } from "@/lib/permissions"
import { access } from "@/tests/yours/reviewed"

/**
 * Who may call each endpoint, written by hand and reviewed: the owner of any user key or of any admin key, or the owners of
 * admin keys whose role holds a permission. A line without an endpoint belongs to a removed module.
 */
export const reviewedAccess: Record<string, "user key" | "admin key" | Permission> = {
  "/api/v1/admin/audit": "audit.read",
  "/api/v1/admin/credits": "credits.read",
  "/api/v1/admin/credits/balances": "credits.read",
  "/api/v1/admin/emails": "email.read",
  "/api/v1/admin/feedback": "feedback.read",
  "/api/v1/admin/key": "admin key",
  "/api/v1/admin/metrics": "admin key",
  "/api/v1/admin/orders": "billing.read",
  "/api/v1/admin/plans": "billing.read",
  "/api/v1/admin/requests": "audit.read",
  "/api/v1/admin/stats": "admin.access",
  "/api/v1/admin/subscriptions": "billing.read",
  "/api/v1/admin/usage": "audit.read",
  "/api/v1/admin/users": "users.read",
  "/api/v1/admin/waitlist": "waitlist.read",
  "/api/v1/me": "user key",
  "/api/v1/me/credits": "user key",
  "/api/v1/me/key": "user key",
  "/api/v1/me/orders": "user key",
  "/api/v1/me/requests": "user key",
  "/api/v1/me/run": "user key",
  "/api/v1/me/run-intents": "user key",
  "/api/v1/me/run-intents/run": "user key",
  "/api/v1/me/subscription": "user key",
  "/api/v1/me/usage": "user key",
  ...access,
}
