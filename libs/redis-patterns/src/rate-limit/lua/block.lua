--- Blocks a subject for a time, whatever room it has; a longer block that it has already is replaced.
--- KEYS[1...] blockKeys: string  all of one slot
--- ARGV[1] length: number  ms
--- RETURNS 1
--- EFFECT idempotent
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local length = tonumber(ARGV[1])
for _, k in ipairs(KEYS) do
  local level = string.match(redis.call('GET', k) or '', ':(%d+)$') or '0'
  redis.call('SET', k, string.format('%.0f:%s', now + length, level), 'PX', 2 * length)
end
return 1
