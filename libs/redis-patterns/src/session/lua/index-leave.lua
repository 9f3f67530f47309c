--- Removes entries whose session has ended.
--- KEYS[1] index: string  handle -> end of the session, server milliseconds
--- ARGV[1...] dead: string  handle and end of each, as they were read; '' for any end (variadic, last)
--- RETURNS number  how many were removed
--- EFFECT idempotent
local removed = 0
for i = 1, #ARGV, 2 do
  if ARGV[i + 1] == '' or redis.call('ZSCORE', KEYS[1], ARGV[i]) == ARGV[i + 1] then
    removed = removed + redis.call('ZREM', KEYS[1], ARGV[i])
  end
end
return removed
