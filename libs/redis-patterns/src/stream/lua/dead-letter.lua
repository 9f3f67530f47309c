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
--- @include lib/bury.lua
local added = bury()
return added
