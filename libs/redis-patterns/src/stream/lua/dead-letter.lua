--- Moves an entry to the dead letters of its group, if the consumer still holds it. A repetition finds it acknowledged.
--- KEYS[1] stream: string
--- KEYS[2] deadLetters: string
--- KEYS[3] tries: string        failed attempts by entry id
--- ARGV[1] group: string
--- ARGV[2] consumer: string
--- ARGV[3] id: string
--- ARGV[4] fromMemory: number   1: the entry was trimmed from the stream, its original fields are among `fields`
--- ARGV[5] maxLen: number       of the dead letters, about
--- ARGV[6] maxAgeMs: number     of a dead letter
--- ARGV[7...] fields: string    names and values
--- RETURNS number | string  -2 when the fields must come from memory, -1 when the consumer does not hold it, else its new id
--- EFFECT idempotent
--- @include lib/owner.lua
local mine, somebodys = owned(KEYS[1], ARGV[1], ARGV[2], ARGV[3])
local fields = {}
if ARGV[4] == '0' then
  if not mine then return -1 end
  local found = redis.call('XRANGE', KEYS[1], ARGV[3], ARGV[3])[1]
  if not found then return -2 end
  fields = found[2]
elseif somebodys and not mine then
  return -1
end
for i = 7, #ARGV do fields[#fields + 1] = ARGV[i] end
local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
fields[#fields + 1] = 'x-dlq-at'
fields[#fields + 1] = now
local added = redis.call('XADD', KEYS[2], 'MAXLEN', '~', ARGV[5], '*', unpack(fields))
redis.call('XTRIM', KEYS[2], 'MINID', '~', string.format('%.0f', now - ARGV[6]))
redis.call('PEXPIRE', KEYS[2], ARGV[6])
redis.call('XACK', KEYS[1], ARGV[1], ARGV[3])
redis.call('HDEL', KEYS[3], ARGV[3])
return added
