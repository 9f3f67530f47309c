--- Where a group stands.
--- KEYS[1] stream: string
--- KEYS[2] retries: string
--- KEYS[3] due: string
--- KEYS[4] deadLetters: string
--- KEYS[5] members: string
--- KEYS[6] lanes: string   lane -> original id of the message whose turn it is, where the group is ordered by key
--- KEYS[7] parked: string  those that wait for their turn
--- ARGV[1] group: string
--- RETURNS [lag: number, pending: number, retries: number, deadLetters: number, oldestMs: number, members: number, parked: number]  lag: -1 when Redis cannot tell; oldestMs: age of the oldest entry of the stream that is not done; all -1 when the group is missing
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
if not found then return { -1, -1, -1, -1, -1, -1, -1 } end
local function age(id) return math.max(0, now - string.match(id, '^%d+')) end
local oldest = 0
local pending = redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', 1)[1]
if pending then
  oldest = age(pending[1])
else
  local next = redis.call('XRANGE', KEYS[1], '(' .. field(found, 'last-delivered-id'), '+', 'COUNT', 1)[1]
  if next then oldest = age(next[1]) end
end
local inPending, due = field(found, 'pending'), redis.call('ZCARD', KEYS[3])
local retries = due + redis.call('XLEN', KEYS[2])
local turns, parked = redis.call('HVALS', KEYS[6]), redis.call('ZCARD', KEYS[7])
if #turns > 0 then
  -- Where there are lanes, what is in the retries need not have been tried.
  retries = due
  inPending = inPending + math.max(0, #turns + parked - due)
  for _, id in ipairs(turns) do oldest = math.max(oldest, age(id)) end
end
local alive = redis.call('ZCOUNT', KEYS[5], text(now), '+inf')
local lag = tonumber(field(found, 'lag') or -1) or -1
return { lag, inPending, retries, redis.call('XLEN', KEYS[4]), oldest, alive, parked }
