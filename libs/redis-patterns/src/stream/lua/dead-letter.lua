--- Moves an entry to the dead letters of its group, if the consumer still holds it. A repetition finds it acknowledged.
--- KEYS[1] source: string       the stream or the retries of the group: where the entry is
--- KEYS[2] deadLetters: string
--- ARGV[1] group: string
--- ARGV[2] consumer: string
--- ARGV[3] id: string
--- ARGV[4] isRetry: number      1: the source is the retries, from which what is done is deleted
--- ARGV[5] maxLen: number       of the dead letters, about
--- ARGV[6] maxAgeMs: number     of a dead letter
--- ARGV[7] facts: string        JSON list of names and values to add
--- ARGV[8] fromMemory: number   1: the entry was trimmed from the stream, its fields are `fields`
--- ARGV[9...] fields: string    names and values
--- RETURNS number | string  -2 when the fields must come from memory, -1 when the consumer does not hold it, else its new id
--- EFFECT idempotent
--- @include lib/time.lua
--- @include lib/notes.lua
--- @include lib/held-fields.lua
local found = heldFields(KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[8], 9)
if type(found) == 'number' then return found end
local fields, notes = split(found)
for _, value in ipairs(cjson.decode(ARGV[7])) do fields[#fields + 1] = value end
local now = nowMs()
local times = { 'x-dlq-first-failed', notes['x-first-failed'] or text(now), 'x-dlq-at', text(now) }
for _, value in ipairs(times) do fields[#fields + 1] = value end
local added = redis.call('XADD', KEYS[2], 'MAXLEN', '~', ARGV[5], '*', unpack(fields))
redis.call('XTRIM', KEYS[2], 'MINID', '~', text(now - ARGV[6]))
redis.call('PEXPIRE', KEYS[2], ARGV[6])
redis.call('XACK', KEYS[1], ARGV[1], ARGV[3])
if ARGV[4] == '1' then redis.call('XDEL', KEYS[1], ARGV[3]) end
return added
