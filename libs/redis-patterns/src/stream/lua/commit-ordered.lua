--- Runs the commands of a handler, acknowledges its entry and gives the next message of its key its turn, if the consumer still
--- holds it: all of it or nothing.
--- KEYS[1] retries: string
--- KEYS[2...] keys: string   of the commands, then the lanes and the parked messages of the group
--- ARGV[1] group: string
--- ARGV[2] consumer: string
--- ARGV[3] id: string
--- ARGV[4] commands: string  JSON list of lists: texts, and for a key its number in KEYS
--- RETURNS number  -1 when the consumer does not hold it, else how many commands ran
--- EFFECT once
--- @include lib/owner.lua
--- @include lib/commands.lua
--- @include lib/lanes.lua
if not owned(KEYS[1], ARGV[1], ARGV[2], ARGV[3]) then return -1 end
local found = redis.call('XRANGE', KEYS[1], ARGV[3], ARGV[3])[1]
local count = runCommands(ARGV[4])
redis.call('XACK', KEYS[1], ARGV[1], ARGV[3])
redis.call('XDEL', KEYS[1], ARGV[3])
if found then finish(KEYS[#KEYS - 1], KEYS[#KEYS], KEYS[1], ARGV[3], found[2]) end
return count
