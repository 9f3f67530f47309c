--- Where a group stands, for metrics.
--- KEYS[1] stream: string
--- ARGV[1] group: string
--- RETURNS [number, number, number]  entries that were not delivered yet, -1 when nobody can tell; entries that are pending; the age of the oldest of those, milliseconds
--- EFFECT read
--- @include lib/ids.lua
local lag, pending = -1, 0
local groups = redis.pcall('XINFO', 'GROUPS', KEYS[1])
if groups.err then return { lag, pending, 0 } end
for _, info in ipairs(groups) do
  if field(info, 'name') == ARGV[1] then
    lag = field(info, 'lag') or -1
    pending = field(info, 'pending')
  end
end
if pending == 0 then return { lag, pending, 0 } end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local first = redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', 1)
if not first[1] then return { lag, pending, 0 } end
return { lag, pending, math.max(0, now - tonumber(string.match(first[1][1], '^%d+'))) }
