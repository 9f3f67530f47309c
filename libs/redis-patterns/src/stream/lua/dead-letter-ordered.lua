--- Moves an entry of a group that is ordered by key to the dead letters, if the consumer still holds it, and gives the next message
--- of its key its turn. A repetition finds it acknowledged.
--- KEYS[1] retries: string
--- KEYS[2] deadLetters: string
--- KEYS[3] lanes: string        lane -> original id of the message whose turn it is
--- KEYS[4] parked: string       those that wait for their turn
--- ARGV[1] group: string
--- ARGV[2] consumer: string
--- ARGV[3] id: string
--- ARGV[4] isRetry: number      1
--- ARGV[5] maxLen: number       of the dead letters, about
--- ARGV[6] maxAgeMs: number     of a dead letter
--- ARGV[7] facts: string        JSON list of names and values to add
--- ARGV[8] fromMemory: number   1: the entry was deleted from the retries, its fields are `fields`
--- ARGV[9...] fields: string    names and values
--- RETURNS number | string  -2 when the fields must come from memory, -1 when the consumer does not hold it, else its new id
--- EFFECT idempotent
--- @include lib/bury.lua
--- @include lib/lanes.lua
local added, fields = bury()
if fields then finish(KEYS[3], KEYS[4], KEYS[1], ARGV[3], fields) end
return added
