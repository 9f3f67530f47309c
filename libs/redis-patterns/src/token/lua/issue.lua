--- Keeps the payload of a token.
--- KEYS[1] record: string  the token, by its hash
--- KEYS[2...] index: string  of its principal, if it has one: hash -> end, server milliseconds (variadic, last)
--- ARGV[1] payload: string  encoded
--- ARGV[2] ttlMs: number  milliseconds
--- ARGV[3] hash: string  of the token
--- ARGV[4] max: number  tokens of a principal that may live at a time
--- RETURNS string[]  hashes of the other tokens that are too many, those that end first
--- EFFECT idempotent
local call = redis.call
call('HSET', KEYS[1], 'v', ARGV[1])
call('PEXPIRE', KEYS[1], ARGV[2])
local index = KEYS[2]
if not index then return {} end
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
call('ZREMRANGEBYSCORE', index, '-inf', now)
call('ZADD', index, now + ARGV[2], ARGV[3])
call('PEXPIREAT', index, call('ZRANGE', index, -1, -1, 'WITHSCORES')[2])
local surplus = call('ZCARD', index) - ARGV[4]
if surplus <= 0 then return {} end
surplus = math.min(surplus, 500)
local first = call('ZRANGE', index, 0, surplus)
-- Whoever is given a token can use it, also when it is the one that ends first.
for i = 1, #first do
  if first[i] == ARGV[3] then
    table.remove(first, i)
    break
  end
end
first[surplus + 1] = nil
return first
