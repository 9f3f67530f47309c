--- Where a group stands.
--- KEYS[1] stream: string
--- KEYS[2] retries: string
--- KEYS[3] due: string
--- KEYS[4] deadLetters: string
--- KEYS[5] members: string
--- ARGV[1] group: string
--- RETURNS [lag: number, pending: number, retries: number, deadLetters: number, oldestMs: number, members: number]  lag: -1 when Redis cannot tell; oldestMs: age of the oldest entry of the stream that is not done; all -1 when the group is missing
--- EFFECT read
--- @include lib/time.lua
--- @include lib/ids.lua
local now = nowMs()
local groups = redis.pcall('XINFO', 'GROUPS', KEYS[1])
local found
if not groups.err then
  for _, info in ipairs(groups) do
    if field(info, 'name') == ARGV[1] then found = info end
  end
end
if not found then return { -1, -1, -1, -1, -1, -1 } end
local function age(id) return math.max(0, now - string.match(id, '^%d+')) end
local oldest = 0
local pending = redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', 1)[1]
if pending then
  oldest = age(pending[1])
else
  local next = redis.call('XRANGE', KEYS[1], '(' .. field(found, 'last-delivered-id'), '+', 'COUNT', 1)[1]
  if next then oldest = age(next[1]) end
end
local retries = redis.call('ZCARD', KEYS[3]) + redis.call('XLEN', KEYS[2])
local alive = redis.call('ZCOUNT', KEYS[5], text(now), '+inf')
local lag = tonumber(field(found, 'lag') or -1) or -1
return { lag, field(found, 'pending'), retries, redis.call('XLEN', KEYS[4]), oldest, alive }
