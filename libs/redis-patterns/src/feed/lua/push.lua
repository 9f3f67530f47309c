--- Takes entries into a feed, and drops the oldest of a full one.
--- KEYS[1] feed: string  sorted set, all scores 0: each entry is its id (ULID) and its text
--- KEYS[2] seen: string  id of the last entry that was read
--- KEYS[3] loaded: string  says that what was there before has been loaded
--- ARGV[1] max: number  most entries
--- ARGV[2] ttl: number  milliseconds
--- ARGV[3] same: 'new' | 'replace' | 'keep'  what happens to an entry with the same id: there is none, it goes, it stays
--- ARGV[4] load: 0 | 1  1: nothing is left to load after this
--- ARGV[5...] entries: string  id and text in one
--- RETURNS string  server time, milliseconds
--- EFFECT idempotent
--- @include ../../buckets/lua/lib/time.lua
--- @include lib/id.lua
local feed, max, same = KEYS[1], tonumber(ARGV[1]), ARGV[3]
for i = 5, #ARGV do
  local id = string.sub(ARGV[i], 1, 26)
  if same == 'replace' then redis.call('ZREMRANGEBYLEX', feed, '[' .. id, '(' .. after(id)) end
  if same ~= 'keep' or redis.call('ZLEXCOUNT', feed, '[' .. id, '(' .. after(id)) == 0 then
    redis.call('ZADD', feed, 0, ARGV[i])
  end
end
-- A feed that was made much shorter gets there bit by bit.
local excess = math.min(redis.call('ZCARD', feed) - max, 1000)
if excess > 0 then redis.call('ZREMRANGEBYRANK', feed, 0, excess - 1) end
if ARGV[4] == '1' then redis.call('SET', KEYS[3], 1) end
local expiresAt = string.format('%.0f', now + ARGV[2])
for i = 1, 3 do redis.call('PEXPIREAT', KEYS[i], expiresAt) end
return string.format('%.0f', now)
