import { z } from "zod"
import { RevocationReason } from "@/generated/prisma/enums"
import { adminList } from "@/lib/api/lists"
import { usageDays } from "@/lib/keys/choices"
import { accountColumns, accountDimensions, family } from "@/lib/metrics/family"
import { countedUsage } from "@/lib/platform/postgres/request-sums"
import { id } from "@/lib/platform/schemas/fields"
import { integer } from "@/lib/platform/schemas/integer"
import { findRequests, requestFilters, requestRow, surfaceOfRoute } from "@/lib/request-log/lists"
import { surfaces } from "@/lib/surfaces"

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = adminList({
  summary: "Lists the requests with the keys of all accounts, including rejected ones",
  permission: "audit.read",
  filters: { ...requestFilters, userId: id },
  row: requestRow,
  find: findRequests,
  // Issued and revoked keys are counted here too: there is no list of all keys.
  metrics: family({
    name: "keys",
    dimensions: {
      surface: { schema: z.enum(surfaces), description: "The API of the key or the request" },
      reason: { schema: z.enum(RevocationReason), description: "Why a key was revoked" },
      route: { schema: z.string(), description: "The path of the endpoint" },
      status: { schema: integer(100, 599), description: "The status of the response" },
      key: {
        schema: id,
        description: `Requests by it or by account are known for ${usageDays} days, without surface, route and status`,
        isIndexed: true,
      },
      ...accountDimensions,
    },
    facts: {
      issued: {
        series: { name: "api_keys.issued", dimensions: { surface: "label" } },
        rows: { from: "api_keys", at: "created_at", dimensions: { surface: "surface", ...accountColumns } },
      },
      revoked: {
        series: { name: "api_keys.revoked", dimensions: { surface: "label", reason: "nullif(sublabel, '')" } },
        rows: {
          from: "api_keys",
          at: "revoked_at",
          dimensions: { surface: "surface", reason: "revocation_reason", ...accountColumns },
        },
      },
      requests: {
        series: {
          name: "key_requests",
          dimensions: { surface: surfaceOfRoute("sublabel"), route: "sublabel", status: "label" },
          amount: "CASE WHEN label >= '400' THEN n ELSE 0 END",
        },
        rows: {
          from: `(SELECT * FROM ${countedUsage} counted WHERE unit = 'day') used`,
          at: "created_at",
          stepMs: 86_400_000,
          n: "requests",
          amount: "errors",
          dimensions: { key: "key_id", ...accountColumns },
        },
      },
    },
    measures: {
      issued: { unit: "count", sum: "issued", of: "n", definition: "Keys issued in the period" },
      revoked: { unit: "count", sum: "revoked", of: "n", definition: "Keys revoked in the period" },
      requests: {
        unit: "count",
        sum: "requests",
        of: "n",
        definition: "Requests logged in the period, rejected ones too",
      },
      errors: {
        unit: "count",
        sum: "requests",
        of: "amount",
        definition: "Those with a status of 400 or more",
      },
      errorRate: {
        unit: "share",
        ratio: [
          { fact: "requests", of: "amount" },
          { fact: "requests", of: "n" },
        ],
        definition: "errors ÷ requests; null without any",
      },
    },
  }),
})
