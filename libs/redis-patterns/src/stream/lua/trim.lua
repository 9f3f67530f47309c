--- Removes the oldest entries above the retention that every group has finished, whole nodes of them. A group that nobody has
--- served for long no longer holds anything back.
--- KEYS[1] stream: string
--- KEYS[2] meta: string           group -> since when it has had no member; 'trimmed' -> time of the last look
--- KEYS[3...] members: string     of the groups, in their order
--- ARGV[1] maxLen: number         entries that stay
--- ARGV[2] maxAgeMs: number       entries older than that may go too; 0: no limit
--- ARGV[3] abandonAfterMs: number
--- ARGV[4] intervalMs: number     at most one look in that time; 0: look in any case
--- ARGV[5] limit: number          most entries of one call
--- ARGV[6...] groups: string
--- RETURNS [removed: number, length: number, abandoned: string[]]  removed: -1 when somebody has looked lately
--- EFFECT idempotent
--- @include lib/time.lua
--- @include lib/ids.lua
local now = nowMs()
local length = redis.call('XLEN', KEYS[1])
if ARGV[4] ~= '0' then
  local last = redis.call('HGET', KEYS[2], '~trimmed')
  if last and now - last < tonumber(ARGV[4]) then return { -1, length, {} } end
end
local members = {}
for i = 6, #ARGV do members[ARGV[i]] = KEYS[i - 3] end
-- Time without any consumer; 0 while one lives.
local function silence(group)
  if not members[group] then return 0 end
  if redis.call('ZCOUNT', members[group], text(now), '+inf') > 0 then return 0 end
  local least
  for _, consumer in ipairs(redis.call('XINFO', 'CONSUMERS', KEYS[1], group)) do
    local idle = field(consumer, 'idle')
    if not least or idle < least then least = idle end
  end
  if least then return least end
  redis.call('HSETNX', KEYS[2], 'group:' .. group, text(now))
  return now - redis.call('HGET', KEYS[2], 'group:' .. group)
end
local low, abandoned = nil, {}
local groups = redis.pcall('XINFO', 'GROUPS', KEYS[1])
if groups.err then groups = {} end
for _, info in ipairs(groups) do
  local name = field(info, 'name')
  local silent = silence(name)
  if silent == 0 then redis.call('HDEL', KEYS[2], 'group:' .. name) end
  if silent >= tonumber(ARGV[3]) then
    abandoned[#abandoned + 1] = name
  else
    local pending = redis.call('XPENDING', KEYS[1], name, '-', '+', 1)[1]
    local position = pending and pending[1] or field(info, 'last-delivered-id')
    if not low or less(position, low) then low = position end
  end
end
redis.call('HSET', KEYS[2], '~trimmed', text(now))
redis.call('PEXPIRE', KEYS[2], text(2 * ARGV[3]))
-- Without a group that counts nothing is known to be finished; but where all are abandoned they hold nothing back.
if not low and #abandoned > 0 then low = field(redis.call('XINFO', 'STREAM', KEYS[1]), 'last-generated-id') end
if not low then return { 0, length, abandoned } end
local removed = 0
local excess = length - ARGV[1]
if excess > 0 then removed = redis.call('XTRIM', KEYS[1], 'MINID', '~', low, 'LIMIT', math.min(excess, ARGV[5])) end
if ARGV[2] ~= '0' then
  local oldest = text(now - ARGV[2]) .. '-0'
  if less(low, oldest) then oldest = low end
  removed = removed + redis.call('XTRIM', KEYS[1], 'MINID', '~', oldest, 'LIMIT', ARGV[5])
end
return { removed, length - removed, abandoned }
