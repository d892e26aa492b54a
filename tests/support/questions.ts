import { payingSince } from "@/lib/purchases/subscriptions"

// Business questions of a SaaS team: each with its request to the metrics endpoint, and with SQL over the rows
// themselves that returns the same.

type BusinessQuestion = {
  /** A question of a removed module is not asked. */
  family: string
  question: string
  /** The query of the request. */
  request: string
  /** Returns the fields of the rows without `id`; `createdAt` is a date. */
  sql: string
  /** Whether the order of the rows matters: the first of many. */
  isOrdered?: true
}

/** Ids that the questions name. */
type Subjects = { account: string; key: string; actor: string }

const twelfths = "CASE interval WHEN 'year' THEN amount ELSE 12 * amount END"
const cohort = "to_char(u.created_at AT TIME ZONE 'UTC', 'YYYY-MM') AS cohort"
const orders =
  "(SELECT o.*, coalesce(s.plan_id, '') AS plan FROM orders o LEFT JOIN subscriptions s ON s.id = o.subscription_id) o"
const surface = "CASE WHEN route LIKE '/api/v1/admin/%' THEN 'admin' ELSE 'user' END AS surface"
const by = (unit: "day" | "week" | "month", time: string) =>
  `date_trunc('${unit}', ${time} AT TIME ZONE 'UTC')::date::text AS "createdAt"`
const isOpenAt = (time: string) => `created_at < ${time} AND (canceled_at IS NULL OR canceled_at >= ${time})`
const isPaidAt = (time: string) => `${payingSince} < ${time} AND (canceled_at IS NULL OR canceled_at >= ${time})`

/** The questions of a day, about the time until then. */
export function questionsOn(now: Date, { account, key, actor }: Subjects): BusinessQuestion[] {
  const dayBefore = (days: number) => isoDay(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate() - days))
  const monthBefore = (months: number) => isoDay(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - months))
  const [today, tomorrow] = [dayBefore(0), dayBefore(-1)]
  const from = (since: string, until = today, end = tomorrow) => ({
    range: `since=${since}&until=${until}`,
    during: (time: string) => `${time} >= '${since}T00:00Z' AND ${time} < '${end}T00:00Z'`,
  })
  const day = from(today)
  const week = from(dayBefore(6))
  const month = from(dayBefore(29))
  const quarter = from(dayBefore(89))
  const halfYear = from(monthBefore(5))
  const year = from(monthBefore(11))
  const ever = from("2000-01-01")
  // Requests of today are still being logged.
  const yesterday = from(dayBefore(1), dayBefore(1), today)
  const lastWeek = from(dayBefore(7), dayBefore(1), today)
  const lastMonth = from(dayBefore(29), dayBefore(1), today)
  const end = `'${tomorrow}T00:00Z'`
  const months = (since: string) => `(
    SELECT start::date::text AS "createdAt", start AT TIME ZONE 'UTC' AS starts,
           least(start + interval '1 month', '${tomorrow}'::timestamp) AT TIME ZONE 'UTC' AS ends
    FROM generate_series('${since}'::timestamp, '${today}'::timestamp, '1 month') AS start) m`
  const yearOfMonths = months(monthBefore(11))

  const finance: BusinessQuestion[] = [
    {
      family: "subscriptions",
      question: "What is our monthly recurring revenue?",
      request: `measure=mrr&${day.range}`,
      sql: `SELECT currency, round(sum(${twelfths}) / 12.0)::float8 AS mrr FROM subscriptions WHERE ${isPaidAt(end)} GROUP BY 1`,
    },
    {
      family: "subscriptions",
      question: "Which plans does it come from?",
      request: `measure=mrr,active&by=plan&${day.range}`,
      sql: `SELECT plan_id AS plan, currency, coalesce(round(sum(${twelfths}) FILTER (WHERE ${isPaidAt(end)}) / 12.0), 0)::float8 AS mrr, count(*)::int AS active
            FROM subscriptions WHERE ${isOpenAt(end)} GROUP BY 1, 2`,
    },
    {
      family: "subscriptions",
      question: "How did it develop over a year?",
      request: `measure=mrr&by=month&${year.range}`,
      sql: `SELECT "createdAt", currency, round(sum(${twelfths}) / 12.0)::float8 AS mrr FROM ${yearOfMonths}, subscriptions
            WHERE ${isPaidAt("m.ends")} GROUP BY 1, 2`,
    },
    {
      family: "subscriptions",
      question: "How much of it is billed by the year?",
      request: `measure=mrr&by=interval&${day.range}`,
      sql: `SELECT interval::text AS interval, currency, round(sum(${twelfths}) / 12.0)::float8 AS mrr FROM subscriptions WHERE ${isPaidAt(end)} GROUP BY 1, 2`,
    },
    {
      family: "orders",
      question: "How much did we earn each month, net of all refunds?",
      request: `measure=net&by=month&${year.range}`,
      sql: `SELECT ${by("month", "paid_at")}, currency, sum(amount - refunded_amount)::float8 AS net FROM orders
            WHERE ${year.during("paid_at")} GROUP BY 1, 2`,
    },
    {
      family: "orders",
      question: "How much came in and went out as refunds each month?",
      request: `measure=gross,refunded&by=month&${year.range}`,
      sql: `SELECT "createdAt", currency, sum(gross)::float8 AS gross, sum(refunded)::float8 AS refunded FROM (
              SELECT ${by("month", "paid_at")}, currency, amount AS gross, 0 AS refunded FROM orders WHERE ${year.during("paid_at")}
              UNION ALL SELECT ${by("month", "created_at")}, currency, 0, amount FROM refunds WHERE ${year.during("created_at")}) moved
            GROUP BY 1, 2`,
    },
    {
      family: "orders",
      question: "Which plans earned how much in the last 30 days?",
      request: `measure=orders,net&by=plan&sort=net&${month.range}`,
      sql: `SELECT plan, currency, count(*)::int AS orders, sum(amount - refunded_amount)::float8 AS net FROM ${orders}
            WHERE ${month.during("paid_at")} GROUP BY 1, 2`,
    },
    {
      family: "orders",
      question: "What does an order amount to, for subscriptions and for packs of credits?",
      request: `measure=average&by=kind&${quarter.range}`,
      sql: `SELECT kind::text AS kind, currency, round(avg(amount))::float8 AS average FROM orders WHERE ${quarter.during("paid_at")} GROUP BY 1, 2`,
    },
    {
      family: "orders",
      question: "How many accounts paid each month?",
      request: `measure=buyers&by=month&${year.range}`,
      sql: `SELECT ${by("month", "paid_at")}, count(DISTINCT user_id)::int AS buyers FROM orders WHERE ${year.during("paid_at")} GROUP BY 1`,
    },
    {
      family: "orders",
      question: "How many accounts paid in the last quarter?",
      request: `measure=buyers&${quarter.range}`,
      sql: `SELECT count(DISTINCT user_id)::int AS buyers FROM orders WHERE ${quarter.during("paid_at")}`,
    },
    {
      family: "orders",
      question: "Which plans were refunds for?",
      request: `measure=refunded&by=plan&${quarter.range}`,
      sql: `SELECT o.plan, r.currency, sum(r.amount)::float8 AS refunded FROM refunds r JOIN ${orders} ON o.id = r.order_id
            WHERE ${quarter.during("r.created_at")} GROUP BY 1, 2`,
    },
    {
      family: "orders",
      question: "What became of the paid orders?",
      request: `measure=orders&by=status&${quarter.range}`,
      sql: `SELECT status::text AS status, count(*)::int AS orders FROM orders WHERE ${quarter.during("paid_at")} GROUP BY 1`,
    },
    {
      family: "orders",
      question: "Which ten accounts paid the most this week?",
      request: `measure=gross&by=account&sort=gross&limit=10&${week.range}`,
      sql: `SELECT user_id AS account, currency, sum(amount)::float8 AS gross FROM orders WHERE ${week.during("paid_at")}
            GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT 10`,
      isOrdered: true,
    },
    {
      family: "orders",
      question: "What has this account ever paid?",
      request: `measure=orders,gross,net&account=${account}&${ever.range}`,
      sql: `SELECT currency, count(*)::int AS orders, sum(amount)::float8 AS gross, sum(amount - refunded_amount)::float8 AS net FROM orders
            WHERE user_id = '${account}' AND ${ever.during("paid_at")} GROUP BY 1`,
    },
    {
      family: "orders",
      question: "How many packs of credits did we sell each week?",
      request: `measure=orders,gross&kind=credits&by=week&${quarter.range}`,
      sql: `SELECT ${by("week", "paid_at")}, currency, count(*)::int AS orders, sum(amount)::float8 AS gross FROM orders
            WHERE kind = 'credits' AND ${quarter.during("paid_at")} GROUP BY 1, 2`,
    },
    {
      family: "credits",
      question: "How many credits did we give away, sell and correct each month?",
      request: `measure=granted,purchased,adjusted&by=month&${year.range}`,
      sql: `SELECT ${by("month", "created_at")}, coalesce(sum(amount) FILTER (WHERE kind = 'grant'), 0)::float8 AS granted,
              coalesce(sum(amount) FILTER (WHERE kind = 'purchase'), 0)::float8 AS purchased,
              coalesce(sum(amount) FILTER (WHERE kind = 'adjustment'), 0)::float8 AS adjusted
            FROM credit_entries WHERE ${year.during("created_at")} GROUP BY 1`,
    },
    {
      family: "balances",
      question: "How many credits do we owe?",
      request: `measure=balances,credits&${ever.range}`,
      sql: "SELECT count(*)::int AS balances, sum(balance)::float8 AS credits FROM credit_accounts",
    },
  ]

  const growth: BusinessQuestion[] = [
    {
      family: "accounts",
      question: "How many people signed up each day?",
      request: `measure=signups&by=day&${month.range}`,
      sql: `SELECT ${by("day", "created_at")}, count(*)::int AS signups FROM users WHERE ${month.during("created_at")} GROUP BY 1`,
    },
    {
      family: "accounts",
      question: "How many each month, and how many accounts were there at its end?",
      request: `measure=signups,accounts&by=month&${year.range}`,
      sql: `SELECT "createdAt", (count(*) FILTER (WHERE created_at >= m.starts))::int AS signups, count(*)::int AS accounts
            FROM ${yearOfMonths}, users WHERE created_at < m.ends GROUP BY 1`,
    },
    {
      family: "accounts",
      question: "Who has which role?",
      request: `measure=accounts&by=role&${day.range}`,
      sql: "SELECT role, count(*)::int AS accounts FROM users GROUP BY 1",
    },
    {
      family: "accounts",
      question: "How many of the new accounts are banned or closed by now?",
      request: `measure=signups&by=status&${quarter.range}`,
      sql: `SELECT status::text AS status, count(*)::int AS signups FROM users WHERE ${quarter.during("created_at")} GROUP BY 1`,
    },
    {
      family: "accounts",
      question: "Of each month's sign-ups, how many ever subscribed, and how many still do?",
      request: `measure=accounts,subscribed,retained&by=cohort&${day.range}`,
      sql: `SELECT ${cohort}, count(*)::int AS accounts,
              (count(*) FILTER (WHERE EXISTS (SELECT FROM subscriptions s WHERE s.user_id = u.id)))::int AS subscribed,
              (count(*) FILTER (WHERE EXISTS (SELECT FROM subscriptions WHERE user_id = u.id AND ${isOpenAt(end)})))::int AS retained
            FROM users u GROUP BY 1`,
    },
    {
      family: "accounts",
      question: "How did they develop from month to month since they signed up?",
      request: `measure=accounts,subscribed,retained&cohort=month&${halfYear.range}`,
      sql: `SELECT "createdAt", ${monthsSince("m.starts")}, ${cohort}, (count(*) FILTER (WHERE u.created_at < m.ends))::int AS accounts,
              (count(*) FILTER (WHERE EXISTS (SELECT FROM subscriptions s WHERE s.user_id = u.id AND s.created_at < m.ends)))::int AS subscribed,
              (count(*) FILTER (WHERE EXISTS (SELECT FROM subscriptions s WHERE s.user_id = u.id AND s.created_at < m.ends
                AND (s.canceled_at IS NULL OR s.canceled_at >= m.ends))))::int AS retained
            FROM ${months(monthBefore(5))}, users u WHERE u.created_at < m.ends AND ${halfYear.during("u.created_at")} GROUP BY 1, 2, 3`,
    },
    {
      family: "accounts",
      question: "What did they pay from month to month since they signed up?",
      request: `measure=revenue&cohort=month&${halfYear.range}`,
      sql: `SELECT ${by("month", "o.paid_at")}, ${monthsSince("o.paid_at")}, ${cohort}, o.currency,
              sum(o.amount - o.refunded_amount)::float8 AS revenue
            FROM orders o JOIN users u ON u.id = o.user_id
            WHERE ${halfYear.during("o.paid_at")} AND ${halfYear.during("u.created_at")} GROUP BY 1, 2, 3, 4`,
    },
    {
      family: "accounts",
      question: "What are all accounts worth that signed up in one month?",
      request: `measure=accounts,revenue&cohort=${monthBefore(5).slice(0, 7)}&${ever.range}`,
      sql: `SELECT NULL AS currency, count(*)::int AS accounts, NULL::float8 AS revenue FROM users u
            WHERE to_char(u.created_at AT TIME ZONE 'UTC', 'YYYY-MM') = '${monthBefore(5).slice(0, 7)}'
            UNION ALL SELECT o.currency, NULL, sum(o.amount - o.refunded_amount) FROM orders o JOIN users u ON u.id = o.user_id
            WHERE o.paid_at IS NOT NULL AND to_char(u.created_at AT TIME ZONE 'UTC', 'YYYY-MM') = '${monthBefore(5).slice(0, 7)}' GROUP BY 1`,
    },
    {
      family: "subscriptions",
      question: "How many subscriptions started each month, by plan?",
      request: `measure=started&by=month,plan&${halfYear.range}`,
      sql: `SELECT ${by("month", "created_at")}, plan_id AS plan, count(*)::int AS started FROM subscriptions
            WHERE replaces_id IS NULL AND ${halfYear.during("created_at")} GROUP BY 1, 2`,
    },
    {
      family: "waitlist",
      question: "Where do people on the waitlist come from, and how many joined?",
      request: `measure=entries,joinedShare&by=source&${ever.range}`,
      sql: `SELECT source, count(*)::int AS entries, avg(CASE status WHEN 'joined' THEN 1 ELSE 0 END)::float8 AS "joinedShare"
            FROM waitlist_entries GROUP BY 1`,
    },
    {
      family: "waitlist",
      question: "How fast does the waitlist grow?",
      request: `measure=entries&by=week&${quarter.range}`,
      sql: `SELECT ${by("week", "created_at")}, count(*)::int AS entries FROM waitlist_entries WHERE ${quarter.during("created_at")} GROUP BY 1`,
    },
    {
      family: "credits",
      question: "How many accounts use the product each month?",
      request: `measure=activeAccounts&by=month&${year.range}`,
      sql: `SELECT ${by("month", "created_at")}, count(DISTINCT user_id)::int AS "activeAccounts" FROM runs WHERE ${year.during("created_at")} GROUP BY 1`,
    },
    {
      family: "credits",
      question: "How many used it in the last 30 days?",
      request: `measure=activeAccounts&${month.range}`,
      sql: `SELECT count(DISTINCT user_id)::int AS "activeAccounts" FROM runs WHERE ${month.during("created_at")}`,
    },
    {
      family: "credits",
      question: "How much is it used each day?",
      request: `measure=runs,spent&by=day&${month.range}`,
      sql: `SELECT ${by("day", "ended_at")}, count(*)::int AS runs, sum(cost)::float8 AS spent FROM runs WHERE ${month.during("ended_at")} GROUP BY 1`,
    },
    {
      family: "credits",
      question: "Which ten accounts use it the most?",
      request: `measure=spent,runs&by=account&sort=spent&limit=10&${week.range}`,
      sql: `SELECT user_id AS account, sum(cost)::float8 AS spent, count(*)::int AS runs FROM runs WHERE ${week.during("ended_at")}
            GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10`,
      isOrdered: true,
    },
  ]

  const churn: BusinessQuestion[] = [
    {
      family: "subscriptions",
      question: "What is our churn each month?",
      request: `measure=churnRate&by=month&${year.range}`,
      sql: `SELECT "createdAt", (SELECT count(*) FROM subscriptions WHERE canceled_at >= m.starts AND canceled_at < m.ends AND NOT replaced)::float8
              / nullif((SELECT count(*) FROM subscriptions WHERE ${isOpenAt("m.starts")}), 0) AS "churnRate" FROM ${yearOfMonths}`,
    },
    {
      family: "subscriptions",
      question: "Which plans do people leave?",
      request: `measure=ended&by=plan&${quarter.range}`,
      sql: `SELECT plan_id AS plan, count(*)::int AS ended FROM subscriptions WHERE NOT replaced AND ${quarter.during("canceled_at")} GROUP BY 1`,
    },
    {
      family: "subscriptions",
      question: "Do yearly subscriptions end less often?",
      request: `measure=ended,active&by=interval&${quarter.range}`,
      sql: `SELECT interval::text AS interval, (count(*) FILTER (WHERE NOT replaced AND ${quarter.during("canceled_at")}))::int AS ended,
              (count(*) FILTER (WHERE ${isOpenAt(end)}))::int AS active FROM subscriptions GROUP BY 1`,
    },
    {
      family: "subscriptions",
      question: "How long do subscriptions last?",
      request: `measure=lifetimeDays&by=plan&${ever.range}`,
      sql: `SELECT plan_id AS plan, (sum(extract(epoch FROM canceled_at - coalesce(first_created_at, created_at))::bigint) / count(*)::float8 / 86400) AS "lifetimeDays"
            FROM subscriptions WHERE NOT replaced AND canceled_at IS NOT NULL GROUP BY 1`,
    },
    {
      family: "subscriptions",
      question: "How many trials and late payers are there now?",
      request: `measure=active&by=status&${day.range}`,
      sql: `SELECT status::text AS status, count(*)::int AS active FROM subscriptions WHERE ${isOpenAt(end)} GROUP BY 1`,
    },
  ]

  const support: BusinessQuestion[] = [
    {
      family: "feedback",
      question: "How do people rate us each month?",
      request: `measure=averageRating,feedback&by=month&${year.range}`,
      sql: `SELECT ${by("month", "created_at")}, avg(rating)::float8 AS "averageRating", count(*)::int AS feedback FROM feedback
            WHERE ${year.during("created_at")} GROUP BY 1`,
    },
    {
      family: "feedback",
      question: "Which ratings do they give?",
      request: `measure=feedback&by=rating&${year.range}`,
      sql: `SELECT rating::text AS rating, count(*)::int AS feedback FROM feedback WHERE ${year.during("created_at")} GROUP BY 1`,
    },
    {
      family: "feedback",
      question: "How much feedback is unread?",
      request: `measure=feedback&status=new&${ever.range}`,
      sql: "SELECT count(*)::int AS feedback FROM feedback WHERE status = 'new'",
    },
    {
      family: "emails",
      question: "Which emails did we send?",
      request: `measure=emails&by=template,status&${month.range}`,
      sql: `SELECT template, status::text AS status, count(*)::int AS emails FROM emails WHERE ${month.during("created_at")} GROUP BY 1, 2`,
    },
    {
      family: "emails",
      question: "When did emails fail?",
      request: `measure=emails&status=failed&by=day&${month.range}`,
      sql: `SELECT ${by("day", "created_at")}, count(*)::int AS emails FROM emails WHERE status = 'failed' AND ${month.during("created_at")} GROUP BY 1`,
    },
    {
      family: "emails",
      question: "Which emails did this account get?",
      request: `measure=emails&by=template&account=${account}&${ever.range}`,
      sql: `SELECT template, count(*)::int AS emails FROM emails WHERE user_id = '${account}' GROUP BY 1`,
    },
    {
      family: "credits",
      question: "What did this account use each month?",
      request: `measure=runs,spent&by=month&account=${account}&${year.range}`,
      sql: `SELECT ${by("month", "ended_at")}, count(*)::int AS runs, sum(cost)::float8 AS spent FROM runs
            WHERE user_id = '${account}' AND ${year.during("ended_at")} GROUP BY 1`,
    },
    {
      family: "balances",
      question: "How many accounts have fewer than 100 credits left?",
      request: `measure=balances&below=100&${ever.range}`,
      sql: "SELECT count(*)::int AS balances FROM credit_accounts WHERE balance < 100",
    },
    {
      family: "balances",
      question: "How many credits do accounts hold that are banned or closed?",
      request: `measure=balances,credits&by=status&${ever.range}`,
      sql: `SELECT u.status::text AS status, count(*)::int AS balances, sum(balance)::float8 AS credits
            FROM credit_accounts JOIN users u ON u.id = user_id GROUP BY 1`,
    },
  ]

  const security: BusinessQuestion[] = [
    {
      family: "keys",
      question: "How many requests does each API get a day, and how many fail?",
      request: `measure=requests,errors&by=day,surface&${lastWeek.range}`,
      sql: `SELECT ${by("day", "created_at")}, ${surface}, count(*)::int AS requests, (count(*) FILTER (WHERE status >= 400))::int AS errors
            FROM key_requests WHERE ${lastWeek.during("created_at")} GROUP BY 1, 2`,
    },
    {
      family: "keys",
      question: "Which endpoints fail?",
      request: `measure=errors&by=route&sort=errors&${lastWeek.range}`,
      sql: `SELECT route, count(*)::int AS errors FROM key_requests WHERE status >= 400 AND ${lastWeek.during("created_at")} GROUP BY 1`,
    },
    {
      family: "keys",
      question: "With which status?",
      request: `measure=requests&by=status&${lastWeek.range}`,
      sql: `SELECT status::text AS status, count(*)::int AS requests FROM key_requests WHERE ${lastWeek.during("created_at")} GROUP BY 1`,
    },
    {
      family: "keys",
      question: "What did this key do each day?",
      request: `measure=requests,errors&by=day&key=${key}&${lastMonth.range}`,
      sql: `SELECT ${by("day", "created_at")}, count(*)::int AS requests, (count(*) FILTER (WHERE status >= 400))::int AS errors
            FROM key_requests WHERE key_id = '${key}' AND ${lastMonth.during("created_at")} GROUP BY 1`,
    },
    {
      family: "keys",
      question: "Which ten keys were the busiest yesterday?",
      request: `measure=requests&by=key&sort=requests&limit=10&${yesterday.range}`,
      sql: `SELECT key_id AS key, count(*)::int AS requests FROM key_requests
            WHERE ${yesterday.during("created_at")} GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10`,
      isOrdered: true,
    },
    {
      family: "keys",
      question: "How many keys are issued each month?",
      request: `measure=issued&by=month,surface&${halfYear.range}`,
      sql: `SELECT ${by("month", "created_at")}, surface::text AS surface, count(*)::int AS issued FROM api_keys WHERE ${halfYear.during("created_at")} GROUP BY 1, 2`,
    },
    {
      family: "keys",
      question: "Why are keys revoked?",
      request: `measure=revoked&by=reason&${ever.range}`,
      sql: `SELECT revocation_reason::text AS reason, count(*)::int AS revoked FROM api_keys WHERE ${ever.during("revoked_at")} GROUP BY 1`,
    },
    {
      family: "audit",
      question: "What was done in the console?",
      request: `measure=actions&by=action&${month.range}`,
      sql: `SELECT action, count(*)::int AS actions FROM audit_entries WHERE ${month.during("created_at")} GROUP BY 1`,
    },
    {
      family: "audit",
      question: "When do people sign in?",
      request: `measure=actions&action=user.signed_in&by=day&${month.range}`,
      sql: `SELECT ${by("day", "created_at")}, count(*)::int AS actions FROM audit_entries
            WHERE action = 'user.signed_in' AND ${month.during("created_at")} GROUP BY 1`,
    },
    {
      family: "audit",
      question: "What did this person do?",
      request: `measure=actions&by=action&actor=${actor}&${ever.range}`,
      sql: `SELECT action, count(*)::int AS actions FROM audit_entries WHERE actor_id = '${actor}' GROUP BY 1`,
    },
    {
      family: "audit",
      question: "Who changed the most this week?",
      request: `measure=actions&by=actor&sort=actions&limit=5&${week.range}`,
      sql: `SELECT actor_id AS actor, count(*)::int AS actions FROM audit_entries WHERE ${week.during("created_at")}
            GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 5`,
      isOrdered: true,
    },
    {
      family: "audit",
      question: "From where do most sign-ins fail?",
      request: `measure=actions&action=user.sign_in_failed&by=address&sort=actions&limit=5&${month.range}`,
      sql: `SELECT coalesce(details->>'address', '') AS address, count(*)::int AS actions FROM audit_entries
            WHERE action = 'user.sign_in_failed' AND ${month.during("created_at")}
            GROUP BY 1 ORDER BY 2 DESC, coalesce(details->>'address', '') COLLATE "C" LIMIT 5`,
      isOrdered: true,
    },
  ]
  const address = (column: string) => `(SELECT email FROM users WHERE id = ${column}) AS email`
  const firstOf = (table: string) =>
    `LEFT JOIN (SELECT user_id, min(created_at) AS at FROM ${table} GROUP BY 1) ${table} ON ${table}.user_id = u.id`
  const daysTo = (table: string) => `extract(epoch FROM ${table}.at - u.created_at) / 86400`
  const middleOf = (table: string) => `percentile_cont(0.5) WITHIN GROUP (ORDER BY (${daysTo(table)})::float8)`

  const paths: BusinessQuestion[] = [
    {
      family: "accounts",
      question: "Of each month's sign-ups, how many started a run, and how many subscribed?",
      request: `measure=signups,signupsWithRun,signupsWithSubscription&by=month&${quarter.range}`,
      sql: `SELECT ${by("month", "u.created_at")}, count(*)::int AS signups, count(runs.at)::int AS "signupsWithRun",
              count(subscriptions.at)::int AS "signupsWithSubscription"
            FROM users u ${firstOf("runs")} ${firstOf("subscriptions")} WHERE ${quarter.during("u.created_at")} GROUP BY 1`,
    },
    {
      family: "accounts",
      question: "How long did they take, in the mean and the median?",
      request: `measure=daysToRun,medianDaysToRun,daysToSubscription,medianDaysToSubscription&by=cohort&${quarter.range}`,
      sql: `SELECT ${cohort}, avg(${daysTo("runs")})::float8 AS "daysToRun", ${middleOf("runs")} AS "medianDaysToRun",
              avg(${daysTo("subscriptions")})::float8 AS "daysToSubscription", ${middleOf("subscriptions")} AS "medianDaysToSubscription"
            FROM users u ${firstOf("runs")} ${firstOf("subscriptions")} WHERE ${quarter.during("u.created_at")} GROUP BY 1`,
    },
    {
      family: "accounts",
      question: "Which plans are the new accounts on, and how many have left or never had one?",
      request: `measure=signups&by=subscription,plan&${quarter.range}`,
      sql: `SELECT CASE WHEN s.plan_id IS NOT NULL THEN 'open' WHEN EXISTS (SELECT FROM subscriptions WHERE user_id = u.id) THEN 'ended' ELSE 'none' END AS subscription,
              s.plan_id AS plan, count(*)::int AS signups
            FROM users u LEFT JOIN subscriptions s ON s.user_id = u.id AND s.status <> 'canceled' WHERE ${quarter.during("u.created_at")} GROUP BY 1, 2`,
    },
    {
      family: "subscriptions",
      question: "To and from which plans do accounts change?",
      request: `measure=replacing,replaced&by=plan&${year.range}`,
      sql: `SELECT plan_id AS plan, (count(*) FILTER (WHERE replaces_id IS NOT NULL AND ${year.during("created_at")}))::int AS replacing,
              (count(*) FILTER (WHERE replaced AND ${year.during("canceled_at")}))::int AS replaced FROM subscriptions GROUP BY 1`,
    },
    {
      family: "subscriptions",
      question: "Do accounts stay after a change of plan?",
      request: `measure=replacing&by=plan,status&${year.range}`,
      sql: `SELECT plan_id AS plan, status::text AS status, count(*)::int AS replacing FROM subscriptions
            WHERE replaces_id IS NOT NULL AND ${year.during("created_at")} GROUP BY 1, 2`,
    },
    {
      family: "balances",
      question: "Which subscribers are about to run out of credits?",
      request: `measure=balances,credits&by=account,email&subscription=open&below=300&sort=credits&order=asc&limit=10&${ever.range}`,
      sql: `SELECT user_id AS account, ${address("user_id")}, 1 AS balances, balance::float8 AS credits FROM credit_accounts c
            WHERE balance < 300 AND EXISTS (SELECT FROM subscriptions s WHERE s.user_id = c.user_id AND s.status <> 'canceled') ORDER BY balance, user_id LIMIT 10`,
      isOrdered: true,
    },
    {
      family: "orders",
      question: "Who are the ten best customers of the quarter?",
      request: `measure=gross&by=account,email&sort=gross&limit=10&${quarter.range}`,
      sql: `SELECT user_id AS account, ${address("user_id")}, currency, sum(amount)::float8 AS gross FROM orders
            WHERE ${quarter.during("paid_at")} GROUP BY 1, 2, 3 ORDER BY 4 DESC, 1, 3 LIMIT 10`,
      isOrdered: true,
    },
    {
      family: "keys",
      question: "Which keys fail unusually often, and whose are they?",
      request: `measure=requests,errorRate&by=key,email&sort=errorRate&limit=5&${lastWeek.range}`,
      sql: `SELECT key_id AS key, ${address("user_id")}, count(*)::int AS requests, avg((status >= 400)::int)::float8 AS "errorRate" FROM key_requests
            WHERE ${lastWeek.during("created_at")} GROUP BY 1, 2 ORDER BY 4 DESC, 1 LIMIT 5`,
      isOrdered: true,
    },
    {
      family: "emails",
      question: "Why do emails fail?",
      request: `measure=emails&by=template,errorCode&status=failed&${quarter.range}`,
      sql: `SELECT template, (regexp_match(error, '[45]\\d\\d'))[1] AS "errorCode", count(*)::int AS emails FROM emails
            WHERE status = 'failed' AND ${quarter.during("created_at")} GROUP BY 1, 2`,
    },
    {
      family: "audit",
      question: "How many people changed accounts each week?",
      request: `measure=actions,actors&targetType=user&by=week&${quarter.range}`,
      sql: `SELECT ${by("week", "created_at")}, count(*)::int AS actions, count(DISTINCT actor_id)::int AS actors FROM audit_entries
            WHERE target_type = 'user' AND ${quarter.during("created_at")} GROUP BY 1`,
    },
  ]
  return [...finance, ...growth, ...churn, ...support, ...security, ...paths]
}

function monthsSince(time: string): string {
  const number = (moment: string) =>
    `12 * extract(year FROM ${moment} AT TIME ZONE 'UTC') + extract(month FROM ${moment} AT TIME ZONE 'UTC')`
  return `(${number(time)} - (${number("u.created_at")}))::int AS "monthsSinceSignUp"`
}

function isoDay(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}

/** A recipe of the skill document, as a query. */
export function recipeQuery(recipe: string, now: Date): string {
  return `${recipe.replaceAll("{year}", String(now.getUTCFullYear()))}&until=${isoDay(now.getTime())}`
}
