--- Gives the next message its turn where the one that had it is gone: somebody has deleted it from the retries.
--- KEYS[1] retries: string
--- KEYS[2] dueBody: string
--- KEYS[3] lanes: string   lane -> original id of the message whose turn it is
--- KEYS[4] parked: string  those that wait for their turn
--- RETURNS number  of lanes
--- EFFECT idempotent
--- @include lib/lanes.lua
local there = {}
local function see(id, fields)
  there[valueOf(fields, 'x-original-id') or id] = true
end
for _, entry in ipairs(redis.call('XRANGE', KEYS[1], '-', '+')) do see(entry[1], entry[2]) end
for _, packed in ipairs(redis.call('HVALS', KEYS[2])) do see('', cmsgpack.unpack(packed)) end
local mended = 0
local lanes = redis.call('HGETALL', KEYS[3])
for i = 1, #lanes, 2 do
  if not there[lanes[i + 1]] then
    passOn(KEYS[3], KEYS[4], KEYS[1], lanes[i])
    mended = mended + 1
  end
end
return mended
