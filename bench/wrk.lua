-- Sends each key in turn and prints the result as one line of JSON. Arguments: the mean pause of a connection between
-- two requests, in ms; the JSON to post, or "" for GET requests; and the keys.

local requests, sent, thread = {}, 0, nil
failed = 0

function setup(only)
  thread = only
end

function init(arguments)
  local pause, body = tonumber(table.remove(arguments, 1)), table.remove(arguments, 1)
  -- Exponential, so that requests arrive as from many independent clients. With a function, wrk is slower.
  if pause > 0 then
    function delay() return math.floor(0.5 - pause * math.log(1 - math.random())) end
  end
  if body ~= "" then
    wrk.method, wrk.body, wrk.headers["content-type"] = "POST", body, "application/json"
  end
  for index, key in ipairs(arguments) do
    wrk.headers["x-api-key"] = key
    requests[index] = wrk.format()
  end
end

function request()
  sent = sent % #requests + 1
  return requests[sent]
end

function response(status)
  if status < 200 or status > 299 then failed = failed + 1 end
end

function done(summary, latency)
  local errors = summary.errors
  local failures = errors.connect + errors.read + errors.write + errors.timeout + thread:get("failed")
  print(string.format(
    '{"requests":%d,"seconds":%f,"failures":%d,"p50":%f,"p95":%f,"p99":%f}',
    summary.requests, summary.duration / 1e6, failures,
    latency:percentile(50) / 1e3, latency:percentile(95) / 1e3, latency:percentile(99) / 1e3
  ))
end
