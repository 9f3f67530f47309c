--- Runs the commands of a handler and acknowledges its entry, if the consumer still holds it: both or nothing.
--- KEYS[1] source: string    the stream or the retries of the group: where the entry is
--- KEYS[2...] keys: string   of the commands
--- ARGV[1] group: string
--- ARGV[2] consumer: string
--- ARGV[3] id: string
--- ARGV[4] isRetry: number   1: the source is the retries, from which what is done is deleted
--- ARGV[5] commands: string  JSON list of lists: texts, and for a key its number in KEYS
--- RETURNS number  -1 when the consumer does not hold it, else how many commands ran
--- EFFECT once
--- @include lib/owner.lua
--- @include lib/commands.lua
if not owned(KEYS[1], ARGV[1], ARGV[2], ARGV[3]) then return -1 end
local count = runCommands(ARGV[5])
redis.call('XACK', KEYS[1], ARGV[1], ARGV[3])
if ARGV[4] == '1' then redis.call('XDEL', KEYS[1], ARGV[3]) end
return count
