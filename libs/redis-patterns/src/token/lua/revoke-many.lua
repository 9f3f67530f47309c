--- Revokes tokens of one purpose and principal.
--- KEYS[1] index: string  of the principal: hash -> end, server milliseconds
--- KEYS[2...] records: string  the tokens (variadic, last)
--- ARGV[1...] hashes: string  of the tokens, in the same order (variadic, last)
--- RETURNS number  how many there were
--- EFFECT idempotent
local removed = 0
for i = 2, #KEYS do
  removed = removed + redis.call('UNLINK', KEYS[i])
  redis.call('ZREM', KEYS[1], ARGV[i - 1])
end
return removed
