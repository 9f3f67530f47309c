--- Moves an entry to the retries of its group, if the consumer still holds it. A repetition finds it acknowledged.
--- KEYS[1] source: string      the stream or the retries of the group: where the entry is
--- KEYS[2] due: string         original id -> server time at which it is due
--- KEYS[3] dueBody: string     original id -> packed fields
--- KEYS[4] retries: string     stream of what is due
--- ARGV[1] group: string
--- ARGV[2] consumer: string
--- ARGV[3] id: string
--- ARGV[4] delayMs: number     0: it is due now
--- ARGV[5] isRetry: number     1: the source is the retries, from which what is done is deleted
--- ARGV[6] originalId: string  id in the stream
--- ARGV[7] attempt: number     attempts that have failed
--- ARGV[8] deliveries: number  starts that never came to an end
--- ARGV[9] ttlMs: number       of the retries
--- ARGV[10] fromMemory: number  1: the entry was trimmed from the stream, its fields are `fields`
--- ARGV[11...] fields: string  names and values
--- RETURNS number  -2 when the fields must come from memory, -1 when the consumer does not hold it, else 1
--- EFFECT idempotent
--- @include lib/time.lua
--- @include lib/notes.lua
--- @include lib/keep.lua
--- @include lib/held-fields.lua
local fields = heldFields(KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[10], 11)
if type(fields) == 'number' then return fields end
local now = nowMs()
local _, notes = split(fields)
local firstFailed = notes['x-first-failed']
if not firstFailed and ARGV[7] ~= '0' then firstFailed = text(now) end
fields = noted(fields, ARGV[6], ARGV[7], ARGV[8], firstFailed)
-- The first write is one that a full Redis refuses, so that the whole script is refused.
if ARGV[4] == '0' then
  redis.call('XADD', KEYS[4], '*', unpack(fields))
  keep(KEYS[4], ARGV[9])
else
  redis.call('HSET', KEYS[3], ARGV[6], cmsgpack.pack(fields))
  redis.call('ZADD', KEYS[2], text(now + ARGV[4]), ARGV[6])
  keep(KEYS[3], text(ARGV[4] + ARGV[9]))
  keep(KEYS[2], text(ARGV[4] + ARGV[9]))
end
redis.call('XACK', KEYS[1], ARGV[1], ARGV[3])
if ARGV[5] == '1' then redis.call('XDEL', KEYS[1], ARGV[3]) end
return 1
