import {
  book,
  choice,
  figure,
  gone,
  id,
  internal,
  kept,
  noFile,
  ofOwnKeys,
  ofUser,
  own,
  ownAddress,
  type PersonalTable,
  secret,
  sql,
  staff,
  type TableOfMap,
  time,
  without,
} from "@/lib/personal-table"
import { deletedAddress } from "@/lib/platform/email/deleted-address"
import { details as yourDetails } from "@/lib/yours/audit"
import { tables, type YourTable } from "@/lib/yours/tables"

// The export and the erasure follow this table, and a test compares it with the columns of the database.

/** No text in the format of a key has this hash, so that a request with the key is not logged. */
export const erasedHash = "sha256(('erased ' || id)::bytea)"

/** In order of erasure: rows that are found by the address come before the rows that have it. */
export const personalData: Readonly<Record<string, TableOfMap>> = {
  ...Object.fromEntries(Object.entries<YourTable>(tables).map(([name, { personal }]) => [name, personal])),
  waitlist_entries: {
    rows: `email IN ${ownAddress}`,
    file: { name: "waitlist", about: "your entry on the waitlist" },
    erasure: "columns",
    columns: {
      id: [own, id],
      email: [own, sql(deletedAddress)],
      note: [own, sql("NULL")],
      source: [own, kept("Names a link to the waitlist, which the statistics contain.")],
      status: [own, choice],
      created_at: [own, time],
      invited_at: [own, time],
    },
  },
  emails: {
    // Each condition has its index; the second one uses the index that finds parts of addresses.
    rows: `id IN (
      SELECT id FROM emails WHERE user_id = $1::uuid
      UNION ALL
      SELECT id FROM emails WHERE user_id IS NULL
        AND trigrams(folded("to")) @> trigrams(folded(${ownAddress})) AND "to" = ${ownAddress})`,
    file: { name: "emails", about: "the emails that were sent to you, without their texts, which are not stored" },
    erasure: "columns",
    columns: {
      id: [own, id],
      user_id: [internal, id],
      to: [own, sql("'deleted@invalid'")],
      template: [own, choice],
      subject: [own, sql("'Deleted'")],
      status: [own, choice],
      error: [
        without("The mail server's response, for the operator."),
        // The mail server may have quoted the address.
        sql("CASE WHEN status = 'failed' THEN 'Deleted' ELSE error END"),
      ],
      created_at: [own, time],
      sent_at: [own, time],
    },
  },
  sign_ups: {
    rows: `email IN ${ownAddress}`,
    file: without("Sign-ups that wait for a link, which other people may have made with this address."),
    erasure: "rows",
    columns: {
      id: [noFile, gone],
      email: [noFile, gone],
      name: [noFile, gone],
      password_hash: [noFile, gone],
      token: [noFile, gone],
      expires_at: [noFile, gone],
    },
  },
  address_changes: {
    rows: ofUser,
    file: { name: "address-changes", about: "recent changes of your email address" },
    erasure: "rows",
    columns: {
      id: [own, gone],
      user_id: [internal, gone],
      from: [own, gone],
      to: [own, gone],
      token: [secret, gone],
      created_at: [own, gone],
      confirmed_at: [own, gone],
    },
  },
  verification_tokens: {
    rows: "identifier = $1::uuid::text",
    file: without("Links that reset the password, as hashes."),
    erasure: "rows",
    columns: { identifier: [noFile, gone], token: [noFile, gone], expires: [noFile, gone] },
  },
  sessions: {
    rows: ofUser,
    file: { name: "sessions", about: "the browsers that are signed in to your account" },
    erasure: "rows",
    columns: {
      id: [secret, gone],
      user_id: [internal, gone],
      via: [own, gone],
      factor: [own, gone],
      address: [own, gone],
      browser: [own, gone],
      created_at: [own, gone],
      last_seen_at: [own, gone],
      connecting: [secret, gone],
      connecting_until: [internal, gone],
      exporting: [secret, gone],
      exporting_until: [internal, gone],
      written_lsn: [internal, gone],
      proved_at: [own, gone],
      proof_code: [secret, gone],
      proof_code_until: [internal, gone],
      proof_code_tries: [internal, gone],
      app_secret: [secret, gone],
      app_secret_until: [internal, gone],
    },
  },
  pending_sign_ins: {
    rows: ofUser,
    file: without("Sign-ins that wait, for ten minutes, for the second factor or the decision about a deletion."),
    erasure: "rows",
    columns: {
      token: [noFile, gone],
      user_id: [noFile, gone],
      via: [noFile, gone],
      factor: [noFile, gone],
      expires_at: [noFile, gone],
    },
  },
  passkeys: {
    rows: ofUser,
    file: { name: "passkeys", about: "your passkeys, without their public keys" },
    erasure: "rows",
    columns: {
      id: [own, gone],
      user_id: [internal, gone],
      credential_id: [secret, gone],
      public_key: [secret, gone],
      counter: [internal, gone],
      transports: [internal, gone],
      name: [own, gone],
      created_at: [own, gone],
      last_used_at: [own, gone],
    },
  },
  authenticator_apps: {
    rows: ofUser,
    file: { name: "authenticator-app", about: "when your authenticator app was added" },
    erasure: "rows",
    columns: {
      user_id: [internal, gone],
      secret: [secret, gone],
      last_step: [internal, gone],
      created_at: [own, gone],
    },
  },
  recovery_codes: {
    rows: ofUser,
    file: without("Recovery codes, as hashes."),
    erasure: "rows",
    columns: { user_id: [noFile, gone], hash: [noFile, gone], created_at: [noFile, gone] },
  },
  code_attempts: {
    rows: ofUser,
    file: without("Counts of wrong codes, for ten minutes."),
    erasure: "rows",
    columns: { user_id: [noFile, gone], device: [noFile, gone], wrong: [noFile, gone], last_at: [noFile, gone] },
  },
  accounts: {
    rows: ofUser,
    file: { name: "connected-services", about: "the services with which you can sign in" },
    erasure: "rows",
    columns: {
      id: [own, gone],
      user_id: [internal, gone],
      type: [internal, gone],
      provider: [own, gone],
      provider_account_id: [own, gone],
      created_at: [own, gone],
    },
  },
  user_pictures: {
    rows: ofUser,
    file: { name: "picture", about: "your picture, a WebP in base64" },
    erasure: "rows",
    columns: {
      user_id: [internal, gone],
      version: [internal, gone],
      image: [sql("translate(encode(image, 'base64'), E'\\n', '')"), gone],
      created_at: [own, gone],
    },
  },
  account_notes: {
    rows: ofUser,
    file: without(
      "Notes that staff made about you, because they can be about other people, too. Ask for them by email.",
    ),
    erasure: "rows",
    columns: {
      id: [noFile, gone],
      user_id: [noFile, gone],
      author_id: [noFile, gone],
      text: [noFile, gone],
      created_at: [noFile, gone],
    },
  },
  feedback: {
    rows: ofUser,
    file: { name: "feedback", about: "the feedback that you gave, with the last reply to each" },
    erasure: "columns",
    columns: {
      id: [own, id],
      user_id: [internal, id],
      rating: [own, figure],
      message: [own, sql("'Deleted'")],
      status: [own, choice],
      created_at: [own, time],
      reply_id: [internal, id],
      reply: [own, sql("CASE WHEN reply IS NOT NULL THEN 'Deleted' END")],
      replied_by_id: [staff, id],
      replied_at: [own, time],
    },
  },
  api_keys: {
    rows: ofUser,
    file: { name: "api-keys", about: "your API keys, without the keys themselves" },
    erasure: "columns",
    columns: {
      id: [own, id],
      user_id: [internal, id],
      surface: [own, choice],
      name: [own, sql("'Deleted key'")],
      start: [own, kept("The first characters, by which the audit log and a report of a leak name the key.")],
      hash: [secret, sql(erasedHash)],
      request_id: [internal, id],
      created_at: [own, time],
      expires_at: [own, time],
      revoked_at: [own, time],
      revoked_by_id: [staff, id],
      last_used_at: [own, time],
      revocation_reason: [own, choice],
      scopes: [own, choice],
      allowed_cidrs: [own, sql("NULL")],
      requests_per_minute: [own, figure],
      spend_limit: [own, figure],
      spend_period: [own, choice],
      successor_id: [own, id],
      root_id: [own, id],
    },
  },
  key_requests: {
    rows: ofUser,
    file: { name: "requests", about: "the requests with your keys, as long as they are kept" },
    // Servers may not change the log.
    erasure: { statement: "SELECT FROM erase_request_messages($1::uuid) erased WHERE erased > 0" },
    columns: {
      id: [own, id],
      key_id: [own, id],
      user_id: [internal, id],
      created_at: [own, time],
      method: [own, choice],
      route: [own, choice],
      status: [own, figure],
      code: [own, choice],
      ms: [own, figure],
      rows: [own, figure],
      credits: [own, figure],
      address: [sql("host(address)"), kept("Shows who used a key that leaked, and is dropped after REQUEST_LOG_DAYS.")],
      user_agent: [own, kept("As the address: it is dropped after REQUEST_LOG_DAYS.")],
      parameters: [own, choice],
      request_id: [own, kept("As the address: it is dropped after REQUEST_LOG_DAYS.")],
      run_id: [own, id],
      // It can contain names that the client sent.
      message: [own, sql("NULL")],
    },
  },
  key_request_changes: {
    rows: ofUser,
    file: without("What requests of the last seconds add to usage.json and key-addresses.json."),
    erasure: {
      statement:
        "UPDATE key_request_changes SET address = 'others' WHERE user_id = $1::uuid AND address NOT IN ('unknown', 'others')",
    },
    columns: {
      key_id: [noFile, id],
      user_id: [noFile, id],
      hour: [noFile, time],
      route: [noFile, choice],
      status: [noFile, figure],
      address: [noFile, sql("'others'")],
      requests: [noFile, figure],
      rows: [noFile, figure],
      credits: [noFile, figure],
      under_10_ms: [noFile, figure],
      under_50_ms: [noFile, figure],
      under_250_ms: [noFile, figure],
      under_1000_ms: [noFile, figure],
      first_at: [noFile, time],
      last_at: [noFile, time],
    },
  },
  key_reach: {
    rows: `key_id ${ofOwnKeys}`,
    file: { name: "key-addresses", about: "from which IP addresses your keys were used, since they were created" },
    // As for a key that was used from too many addresses.
    erasure: {
      statement: `
        WITH gone AS (
          DELETE FROM key_reach WHERE (key_id, route, address) IN (
            SELECT key_id, route, address FROM key_reach
            WHERE key_id ${ofOwnKeys} AND address NOT IN ('unknown', 'others') ORDER BY 1, 2, 3 LIMIT 1000)
          RETURNING *)
        INSERT INTO key_reach AS r (key_id, route, address, requests, refused, rows, first_at, last_at)
          SELECT key_id, route, 'others', sum(requests), sum(refused), sum(rows), min(first_at), max(last_at)
          FROM gone GROUP BY 1, 2 ORDER BY 1, 2
          ON CONFLICT (key_id, route, address) DO UPDATE SET
            requests = r.requests + excluded.requests, refused = r.refused + excluded.refused, rows = r.rows + excluded.rows,
            first_at = least(r.first_at, excluded.first_at), last_at = greatest(r.last_at, excluded.last_at)`,
    },
    columns: {
      key_id: [own, id],
      route: [own, choice],
      address: [own, sql("'others'")],
      requests: [own, figure],
      refused: [own, figure],
      rows: [own, figure],
      first_at: [own, time],
      last_at: [own, time],
    },
  },
  key_usage: {
    rows: ofUser,
    file: { name: "usage", about: "the use of your keys, by hour and by day" },
    erasure: "columns",
    columns: {
      id: [own, id],
      unit: [own, choice],
      key_id: [own, id],
      user_id: [internal, id],
      created_at: [own, time],
      requests: [own, figure],
      errors: [own, figure],
      rows: [own, figure],
      credits: [own, figure],
      under_10_ms: [own, figure],
      under_50_ms: [own, figure],
      under_250_ms: [own, figure],
      under_1000_ms: [own, figure],
      unlogged: [own, figure],
    },
  },
  key_request_sums: {
    rows: ofUser,
    file: without("Sums of the requests with your keys, which are in requests.json and usage.json."),
    erasure: "columns",
    columns: {
      key_id: [noFile, id],
      hour: [noFile, time],
      route: [noFile, choice],
      status: [noFile, figure],
      user_id: [noFile, id],
      n: [noFile, figure],
    },
  },
  key_spending: {
    rows: `root_id ${ofOwnKeys}`,
    file: { name: "key-spending", about: "the credits that your keys with a spending limit have spent" },
    erasure: "columns",
    columns: {
      id: [own, id],
      root_id: [own, id],
      period: [own, choice],
      starts_at: [own, time],
      spent: [own, figure],
      held: [own, figure],
    },
  },
  key_reminders: {
    rows: ofUser,
    file: without("The queue of reminders about keys that expire, which are in emails.json once they are sent."),
    erasure: "columns",
    columns: {
      key_id: [noFile, id],
      user_id: [noFile, id],
      days: [noFile, figure],
      send_at: [noFile, time],
      sent_at: [noFile, time],
      attempts: [noFile, figure],
    },
  },
  key_reminder_days: {
    rows: ofUser,
    file: without("The days on which you got reminders about keys, which are in emails.json."),
    erasure: "columns",
    columns: { user_id: [noFile, id], day: [noFile, time] },
  },
  credit_notices: {
    rows: ofUser,
    file: without("The queue of emails about credits that run out, which are in emails.json once they are sent."),
    erasure: "columns",
    columns: {
      user_id: [noFile, id],
      kind: [noFile, choice],
      grant_seq: [noFile, figure],
      needed: [noFile, figure],
      send_at: [noFile, time],
      sent_at: [noFile, time],
      attempts: [noFile, figure],
    },
  },
  runs: {
    rows: ofUser,
    file: { name: "runs", about: "your metered calls and their responses" },
    erasure: "columns",
    columns: {
      id: [own, id],
      user_id: [internal, id],
      key_id: [own, id],
      // The caller chose it.
      idempotency_key: [own, sql("NULL")],
      released_key: [own, sql("NULL")],
      // A guess of the text that was sent can be compared with it.
      fingerprint: [secret, sql("sha256(''::bytea)")],
      state: [own, choice],
      reserved: [own, figure],
      cost: [own, figure],
      response_status: [own, figure],
      // It quotes the text that was sent.
      response_body: [own, sql("CASE WHEN response_body IS NOT NULL THEN '{}' END")],
      created_at: [own, time],
      expires_at: [own, time],
      ended_at: [own, time],
      spending_id: [own, id],
      key_hold: [own, figure],
    },
  },
  run_intents: {
    rows: ofUser,
    file: { name: "run-intents", about: "your metered calls that were checked and wait for ten minutes to be run" },
    erasure: "rows",
    columns: {
      id: [own, gone],
      user_id: [internal, gone],
      call: [own, gone],
      max_cost: [own, gone],
      fingerprint: [secret, gone],
      body: [own, gone],
      created_at: [own, gone],
      expires_at: [own, gone],
    },
  },
  credit_accounts: {
    rows: ofUser,
    file: { name: "balance", about: "your credits" },
    erasure: "columns",
    columns: {
      user_id: [internal, id],
      balance: [own, book],
      seq: [own, book],
      granted: [own, book],
      spent: [own, book],
      owed: [own, book],
      created_at: [own, time],
    },
  },
  credit_entries: {
    rows: ofUser,
    file: { name: "credits", about: "the ledger of your credits" },
    erasure: "columns",
    columns: {
      id: [own, book],
      user_id: [internal, book],
      seq: [own, book],
      kind: [own, book],
      amount: [own, book],
      balance_after: [own, book],
      run_id: [own, book],
      order_id: [own, book],
      actor_id: [staff, book],
      reason: [own, kept("Staff typed it into the ledger, which nobody can change.")],
      request_id: [internal, book],
      created_at: [own, book],
    },
  },
  orders: {
    rows: ofUser,
    file: { name: "orders", about: "your orders" },
    erasure: "columns",
    columns: {
      id: [own, book],
      user_id: [internal, book],
      subscription_id: [own, book],
      kind: [own, book],
      description: [own, book],
      status: [own, book],
      amount: [own, book],
      refunded_amount: [own, book],
      currency: [own, book],
      credits: [own, book],
      created_at: [own, book],
      paid_at: [own, book],
      refunded_at: [own, book],
    },
  },
  refunds: {
    rows: "order_id IN (SELECT id FROM orders WHERE user_id = $1::uuid)",
    file: { name: "refunds", about: "the refunds of your orders" },
    erasure: "columns",
    columns: {
      id: [own, book],
      order_id: [own, book],
      amount: [own, book],
      currency: [own, book],
      created_at: [own, book],
    },
  },
  checkouts: {
    rows: ofUser,
    file: without("Purchases that were started; the paid ones are in orders.json."),
    erasure: "rows",
    columns: {
      id: [noFile, gone],
      user_id: [noFile, gone],
      plan_id: [noFile, gone],
      is_automatic: [noFile, gone],
      url: [noFile, gone],
      created_at: [noFile, gone],
      ended_at: [noFile, gone],
    },
  },
  top_ups: {
    rows: ofUser,
    file: { name: "automatic-top-up", about: "the automatic purchases that you turned on" },
    erasure: "rows",
    columns: {
      user_id: [internal, gone],
      below: [own, gone],
      pack: [own, gone],
      currency: [own, gone],
      amount: [own, gone],
      max_per_month: [own, gone],
      paused_at: [own, gone],
      is_returned: [own, gone],
      paused_card: [own, gone],
      try_at: [internal, gone],
      created_at: [own, gone],
    },
  },
  credit_alerts: {
    rows: ofUser,
    file: { name: "usage-alerts", about: "the emails about your credits that you asked for" },
    erasure: "rows",
    columns: {
      user_id: [internal, gone],
      kind: [own, gone],
      credits: [own, gone],
      period_start: [internal, gone],
      spent_before: [internal, gone],
      told_at: [own, gone],
      try_at: [internal, gone],
      created_at: [own, gone],
    },
  },
  provider_events: {
    rows: "(provider, object_id) IN (SELECT provider, id FROM provider_objects WHERE user_id = $1::uuid)",
    file: without("Messages of the payment provider that your purchases changed, which are in orders.json."),
    erasure: "rows",
    columns: {
      provider: [noFile, gone],
      id: [noFile, gone],
      kind: [noFile, gone],
      object_id: [noFile, gone],
      received_at: [noFile, gone],
      booked_at: [noFile, gone],
      attempts: [noFile, gone],
      try_at: [noFile, gone],
    },
  },
  provider_objects: {
    rows: ofUser,
    file: { name: "payments", about: "your payments and subscriptions at the payment provider" },
    // Subscriptions keep their id: the comparison finds one that still runs at the provider.
    erasure: {
      statement: `
        WITH cleared AS (
          UPDATE provider_objects SET url = NULL, updated_at = now()
          WHERE user_id = $1::uuid AND kind = 'subscription' AND url IS NOT NULL)
        DELETE FROM provider_objects WHERE user_id = $1::uuid AND kind = 'payment'`,
    },
    columns: {
      provider: [own, choice],
      id: [own, kept("By the id of a subscription, one that still takes money is found and canceled.")],
      kind: [own, choice],
      user_id: [internal, id],
      order_id: [own, id],
      subscription_id: [own, id],
      version: [internal, figure],
      credits: [own, figure],
      refunded: [own, figure],
      disputed: [own, figure],
      next_plan: [own, choice],
      url: [without("It leads to the provider's dashboard, which only staff can open."), sql("NULL")],
      problem: [internal, choice],
      created_at: [own, time],
      updated_at: [internal, time],
    },
  },
  provider_customers: {
    rows: ofUser,
    file: { name: "payment-customers", about: "the ids by which the payment provider knows you" },
    erasure: "rows",
    columns: { provider: [own, gone], id: [own, gone], user_id: [internal, gone], created_at: [own, gone] },
  },
  provider_requests: {
    rows: ofUser,
    file: without("Refunds and cancellations on their way to the payment provider, which are in payments.json."),
    erasure: "rows",
    columns: {
      id: [noFile, gone],
      provider: [noFile, gone],
      user_id: [noFile, gone],
      action: [noFile, gone],
      object_id: [noFile, gone],
      amount: [noFile, gone],
      created_at: [noFile, gone],
      done_at: [noFile, gone],
      attempts: [noFile, gone],
      try_at: [noFile, gone],
      error: [noFile, gone],
      withdrawn_at: [noFile, gone],
    },
  },
  subscriptions: {
    rows: ofUser,
    file: { name: "subscriptions", about: "your subscriptions" },
    erasure: "columns",
    columns: {
      id: [own, book],
      user_id: [internal, book],
      plan_id: [own, book],
      status: [own, book],
      amount: [own, book],
      currency: [own, book],
      interval: [own, book],
      created_at: [own, book],
      current_period_start: [own, book],
      current_period_end: [own, book],
      cancel_at_period_end: [own, book],
      canceled_at: [own, book],
      replaces_id: [own, book],
      replaced: [own, book],
      first_created_at: [internal, book],
      paying_since: [internal, book],
    },
  },
  customers: {
    rows: ofUser,
    file: without("Counts of your orders and subscriptions, which are in files of their own."),
    erasure: "columns",
    columns: { user_id: [noFile, id], subscribed_at: [noFile, time], orders: [noFile, figure] },
  },
  buying_days: {
    rows: ofUser,
    file: without("Counts of your orders by day, which are in orders.json."),
    erasure: "columns",
    columns: { user_id: [noFile, id], day: [noFile, time], orders: [noFile, figure] },
  },
  active_days: {
    rows: ofUser,
    file: without("The days on which you made metered calls, which are in runs.json."),
    erasure: "columns",
    columns: { user_id: [noFile, id], day: [noFile, time] },
  },
  audit_entries: {
    // Without the entries that the account does not see.
    rows: `action <> 'user.noted' AND target_id = ANY (ARRAY(
      SELECT $1::uuid::text UNION ALL SELECT id::text FROM api_keys WHERE user_id = $1::uuid))`,
    file: { name: "activity", about: "the events of your account and your keys" },
    erasure: "columns",
    columns: {
      id: [own, id],
      actor_id: [
        sql(
          "CASE WHEN actor_id = $1::uuid THEN 'you' WHEN actor_id IS NULL THEN 'unknown or the system' ELSE 'staff' END",
        ),
        id,
      ],
      action: [own, choice],
      target_type: [own, choice],
      target_id: [own, id],
      // Reasons that staff type can be about other people.
      details: [
        sql(
          "CASE WHEN action IN ('user.banned', 'user.unbanned', 'user.closed') THEN details - 'reason' ELSE details END",
        ),
        kept(
          "The log shows actors, actions and addresses, and nobody can change it. It contains no names and email addresses. auditDetails has the readers of each detail.",
        ),
      ],
      created_at: [own, time],
    },
  },
  account_deletions: {
    rows: ofUser,
    file: without("The deletion of your account: while one is scheduled, no data can be exported."),
    erasure: "columns",
    columns: {
      user_id: [noFile, id],
      requested_by_id: [noFile, id],
      requested_at: [noFile, time],
      due_at: [noFile, time],
      undoable: [noFile, choice],
      started_at: [noFile, time],
      erased_at: [noFile, time],
    },
  },
  users: {
    rows: "id = $1::uuid",
    file: { name: "account", about: "your account" },
    erasure: "columns",
    columns: {
      id: [own, id],
      email: [own, sql(deletedAddress)],
      name: [own, sql("'Deleted account'")],
      role: [own, choice],
      status: [own, sql("'closed'::user_status")],
      password_hash: [secret, sql("NULL")],
      two_factor: [own, sql("false")],
      two_factor_since: [own, sql("NULL")],
      factors_version: [internal, figure],
      session_version: [internal, figure],
      email_verified: [own, sql("NULL")],
      image: [own, sql("NULL")],
      created_at: [own, time],
      updated_at: [own, time],
    },
  },

  plans: {
    nothing: "The plans that the product sells.",
    columns: ["id", "name", "amount", "currency", "interval", "credits", "created_at", "retired_at", "managed"],
  },
  provider_reconciliations: {
    nothing: "The time and the result of the last comparison with the payment provider.",
    columns: ["provider", "started_at", "finished_at", "booked", "reported"],
  },
  daily_sums: {
    nothing: "Figures of all accounts together.",
    columns: ["series", "day", "label", "sublabel", "n", "amount"],
  },
  daily_changes: {
    nothing: "Figures of all accounts together.",
    columns: ["series", "day", "label", "sublabel", "n", "amount"],
  },
  key_reminder_progress: {
    nothing: "The time up to which the sweeper has looked for keys that expire.",
    columns: ["days", "reached_at"],
  },
  passkey_challenges: {
    nothing: "Random numbers that work for five minutes, as hashes.",
    columns: ["hash", "purpose", "bound_to", "expires_at"],
  },
  audit_seals: {
    nothing: "Hashes of the days of the audit log, which is kept.",
    columns: ["day", "entries", "hash"],
  },
  ended_sessions: {
    nothing: "Random ids of sessions of an earlier release, without an account.",
    columns: ["id", "expires"],
  },
  schema_version: {
    nothing: "The version that migrated the database.",
    columns: ["id", "migrated_by", "oldest_build", "migrated_at"],
  },
  _prisma_migrations: {
    nothing: "The migrations that were applied.",
    columns: [
      "id",
      "checksum",
      "finished_at",
      "migration_name",
      "logs",
      "rolled_back_at",
      "started_at",
      "applied_steps_count",
    ],
  },
}

/**
 * `everyone`: readers of the log, and the entry's account in its export. Of a list of its `owner`, others read the length.
 * Entries of earlier builds, which nobody can change, have the list itself.
 */
export const auditDetails: Readonly<Record<string, "everyone" | "owner">> = {
  // Of a request to the payment provider.
  action: "everyone",
  // The actor's address: see audit_entries.
  address: "everyone",
  // The networks that may use a key.
  addresses: "owner",
  addressesChanged: "everyone",
  amount: "everyone",
  // Of a cancellation: now, or the end of the period.
  at: "everyone",
  balance: "everyone",
  count: "everyone",
  below: "everyone",
  currency: "everyone",
  dueAt: "everyone",
  expiresAt: "everyone",
  factor: "everyone",
  feedbackId: "everyone",
  from: "everyone",
  grace: "everyone",
  lostEntries: "everyone",
  lostRuns: "everyone",
  maxPerMonth: "everyone",
  method: "everyone",
  moment: "everyone",
  orderId: "everyone",
  ownerId: "everyone",
  passkey: "everyone",
  provider: "everyone",
  // An export has no reasons of bans and closures: see audit_entries.
  reason: "everyone",
  requestsPerMinute: "everyone",
  scopes: "everyone",
  sessions: "everyone",
  spendLimit: "everyone",
  spendPeriod: "everyone",
  pack: "everyone",
  start: "everyone",
  subscriptionId: "everyone",
  successorId: "everyone",
  surface: "everyone",
  to: "everyone",
  via: "everyone",
  ...yourDetails,
}

/** The details of an audit entry for readers of the log. A detail that is not in the map is left out. */
export function detailsForReaders(details: unknown): unknown {
  const known = Object.entries(details ?? {}).filter(([name]) => Object.hasOwn(auditDetails, name))
  return Object.fromEntries(
    known.map(([name, value]) => {
      const isCounted = auditDetails[name] === "owner" && typeof value === "string"
      return [name, isCounted ? value.split(",").length : value]
    }),
  )
}

export function personalTables(): [name: string, table: PersonalTable][] {
  return Object.entries(personalData).filter((entry): entry is [string, PersonalTable] => "rows" in entry[1])
}
