/**
 * Both inclusive. Lists are in the order of `created_at`, so its bounds follow from the least and the greatest distance
 * of the two times, the ends of an index. Without them, a page would be searched from the newest row on.
 */
export function timeConditions(table: string, column: string) {
  const distance = (end: "min" | "max") =>
    `make_interval(secs => extract(epoch FROM (SELECT ${end}(${column} - created_at) FROM ${table} WHERE ${column} IS NOT NULL))::float8)`
  return {
    since: (time: string) => `${column} >= ${time} AND created_at >= ${time}::timestamptz - ${distance("max")}`,
    until: (time: string) => `${column} <= ${time} AND created_at <= ${time}::timestamptz - ${distance("min")}`,
  }
}
