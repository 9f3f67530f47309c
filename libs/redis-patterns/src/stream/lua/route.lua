--- Gives messages that were delivered to a group that is ordered by key to the lanes of their keys. Whoever they were delivered to,
--- they are taken in the order of the stream: what is delivered and not yet in its lane is pending.
--- KEYS[1] stream: string
--- KEYS[2] retries: string
--- KEYS[3] due: string
--- KEYS[4] lanes: string   lane -> original id of the message whose turn it is
--- KEYS[5] parked: string  those that wait for their turn
--- ARGV[1] group: string
--- ARGV[2] limit: number
--- ARGV[3] ttlMs: number   of what the group keeps
--- RETURNS [routed: number, waiting: number, trimmed: number, orphans: number]  waiting: those that no consumer has yet; trimmed: of `routed`, those that were gone from the stream; orphans: above 0 when lanes have lost the message whose turn it is
--- EFFECT idempotent
--- @include lib/notes.lua
--- @include lib/keep.lua
--- @include lib/lanes.lua
local held = redis.call('XPENDING', KEYS[2], ARGV[1])[1]
local records = redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', ARGV[2])
local ids, trimmed = {}, 0
if #records > 0 then
  -- Nearly always they follow each other, so that one look finds them all.
  local bodies = {}
  for _, entry in ipairs(redis.call('XRANGE', KEYS[1], records[1][1], records[#records][1], 'COUNT', #records)) do
    bodies[entry[1]] = entry[2]
  end
  for i, record in ipairs(records) do
    local id = record[1]
    local fields = bodies[id] or (redis.call('XRANGE', KEYS[1], id, id)[1] or {})[2]
    if fields then
      enter(KEYS[4], KEYS[5], KEYS[2], id, noted(fields, id, '0', '0'))
    else
      trimmed = trimmed + 1
    end
    ids[i] = id
  end
  redis.call('XACK', KEYS[1], ARGV[1], unpack(ids))
  for i = 2, 5 do keep(KEYS[i], ARGV[3]) end
end
local inRetries = redis.call('XLEN', KEYS[2])
local waiting = redis.call('ZCARD', KEYS[5]) + math.max(0, inRetries - held)
return { #ids, waiting, trimmed, redis.call('HLEN', KEYS[4]) - inRetries - redis.call('ZCARD', KEYS[3]) }
