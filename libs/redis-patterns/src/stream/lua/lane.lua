--- Where a key stands in a group that is ordered by key.
--- KEYS[1] retries: string
--- KEYS[2] due: string     original id -> server time at which it is due
--- KEYS[3] lanes: string   lane -> original id of the message whose turn it is
--- KEYS[4] parked: string  those that wait for their turn
--- ARGV[1] group: string
--- ARGV[2] key: string
--- RETURNS [id: string, consumer: string, dueMs: number, waiting: number]  id: '' when nothing of the key is under way; consumer: '' when none has it; dueMs: time until its next attempt, -1 when it waits for none
--- EFFECT read
--- @include lib/time.lua
--- @include lib/lanes.lua
local lane = laneOf({ 'key', ARGV[2] }, '')
local id = redis.call('HGET', KEYS[3], lane)
if not id then return { '', '', -1, 0 } end
local first, last = rangeOf(lane)
local waiting = redis.call('ZLEXCOUNT', KEYS[4], first, last)
local due = redis.call('ZSCORE', KEYS[2], id)
if due then return { id, '', math.max(0, due - nowMs()), waiting } end
for _, entry in ipairs(redis.call('XRANGE', KEYS[1], '-', '+')) do
  if valueOf(entry[2], 'x-original-id') == id then
    local record = redis.call('XPENDING', KEYS[1], ARGV[1], entry[1], entry[1], 1)[1]
    return { id, record and record[2] or '', -1, waiting }
  end
end
return { id, '', -1, waiting }
