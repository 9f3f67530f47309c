--- Acknowledges entries of a group that is ordered by key, as far as the consumer still holds them, and gives the next messages of
--- their keys their turn.
--- KEYS[1] retries: string
--- KEYS[2] lanes: string   lane -> original id of the message whose turn it is
--- KEYS[3] parked: string  those that wait for their turn
--- ARGV[1] group: string
--- ARGV[2] consumer: string
--- ARGV[3...] ids: string
--- RETURNS number  how many the consumer held
--- EFFECT idempotent
--- @include lib/owner.lua
--- @include lib/notes.lua
--- @include lib/lanes.lua
local acknowledged = 0
for i = 3, #ARGV do
  local id = ARGV[i]
  -- Whoever has taken it over may be running it: then its key must wait for that run.
  if owned(KEYS[1], ARGV[1], ARGV[2], id) then
    local found = redis.call('XRANGE', KEYS[1], id, id)[1]
    -- The first write is one that a full Redis takes, so that the whole script runs.
    redis.call('XACK', KEYS[1], ARGV[1], id)
    redis.call('XDEL', KEYS[1], id)
    if found then finish(KEYS[2], KEYS[3], KEYS[1], id, found[2]) end
    acknowledged = acknowledged + 1
  end
end
return acknowledged
