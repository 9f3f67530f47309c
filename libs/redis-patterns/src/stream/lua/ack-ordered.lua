--- Acknowledges entries of a group that is ordered by key, as far as the consumer still holds them, and gives the next messages of
--- their keys their turn.
--- KEYS[1] retries: string
--- KEYS[2] lanes: string   lane -> original id of the message whose turn it is
--- KEYS[3] parked: string  those that wait for their turn
--- ARGV[1] group: string
--- ARGV[2] consumer: string
--- ARGV[3...] ids: string  ascending
--- RETURNS string[]  ids that the consumer did not hold
--- EFFECT idempotent
--- @include lib/lanes.lua
local owned = {}
-- Of what lies between, the consumer holds little more: one look for all.
for _, record in ipairs(redis.call('XPENDING', KEYS[1], ARGV[1], ARGV[3], ARGV[#ARGV], 1000000, ARGV[2])) do
  owned[record[1]] = true
end
local done, entries, missed = {}, {}, {}
for i = 3, #ARGV do
  local id = ARGV[i]
  -- Whoever has taken it over may be running it: then its key must wait for that run.
  if owned[id] then
    done[#done + 1] = id
    entries[#done] = redis.call('XRANGE', KEYS[1], id, id)[1] or false
  else
    missed[#missed + 1] = id
  end
end
if #done == 0 then return missed end
-- The first write is one that a full Redis takes, so that the whole script runs.
redis.call('XACK', KEYS[1], ARGV[1], unpack(done))
redis.call('XDEL', KEYS[1], unpack(done))
for i, id in ipairs(done) do
  if entries[i] then finish(KEYS[2], KEYS[3], KEYS[1], id, entries[i][2]) end
end
return missed
