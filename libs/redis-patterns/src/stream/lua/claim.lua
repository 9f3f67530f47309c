--- Takes over pending entries whose consumer has let their lease end. No delivery is counted: that happens when one starts.
--- KEYS[1] source: string    the stream or the retries of the group
--- ARGV[1] group: string
--- ARGV[2] consumer: string
--- ARGV[3] leaseMs: number
--- ARGV[4] cursor: string    where the previous call ended
--- ARGV[5] count: number     most entries to take
--- RETURNS [cursor: string, entries: [id: string, deliveries: number, fields: string[]][], trimmed: number]
--- EFFECT idempotent
--- @include lib/describe.lua
local reply = redis.call('XAUTOCLAIM', KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4], 'COUNT', ARGV[5], 'JUSTID')
local entries, trimmed = {}, #(reply[3] or {})
for _, id in ipairs(reply[2]) do
  local record = redis.call('XPENDING', KEYS[1], ARGV[1], id, id, 1)[1]
  local entry = record and describe(KEYS[1], id, record[4])
  if entry then
    entries[#entries + 1] = entry
  elseif record then
    redis.call('XACK', KEYS[1], ARGV[1], id)
    trimmed = trimmed + 1
  end
end
return { reply[1], entries, trimmed }
