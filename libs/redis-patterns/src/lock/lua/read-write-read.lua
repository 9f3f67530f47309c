--- Takes the read side unless a writer holds the lock or has waited longer; else joins the queue of readers.
--- KEYS[1] holdersKey: string  'r<token>' or 'w<token>' -> end of the lease, server milliseconds
--- KEYS[2] readersKey: string  waiting reader -> ticket
--- KEYS[3] writersKey: string  waiting writer -> ticket
--- KEYS[4] aliveKey: string  waiter -> alive until, server milliseconds
--- ARGV[1] token: string  token of this acquisition
--- ARGV[2] leaseMs: number  lease, milliseconds
--- ARGV[3] waiter: string  who waits, or '' to be refused at once
--- ARGV[4] livenessMs: number  how long the waiter counts as alive, milliseconds
--- ARGV[5] wakePrefix: string  channel of a process, without its id
--- RETURNS [granted: 1, fence: string] | [granted: 0, leftMs: number, rank: number, headMs: number]  no fence; or how long the writer's lease lasts (-2: free, for writers), writers that come first (-1: not in the queue), how long the first of them is known to live
--- EFFECT token
--- @include lib/queue.lua
--- @include lib/sides.lua
local call = redis.call
local holders, readers, writers, alive = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local me = ARGV[3]
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local side = sideOf(holders, now)
local writer, turn, left = firstOf(writers, alive, now)
-- A crowd of the dead: come back at once.
if writer and left == 0 then return { 0, 0, 0, 0 } end
local ticket = me ~= '' and tonumber(call('ZSCORE', readers, me) or nil) or math.huge
local again = call('ZSCORE', holders, 'r' .. ARGV[1])

if again or (side ~= 'w' and (not writer or ticket < turn)) then
  hold(holders, 'r' .. ARGV[1], now + ARGV[2])
  if me ~= '' then
    dequeue(readers, alive, me)
    -- Who wakes a crowd of readers wakes the first of them only: each brings in two more.
    if ticket < math.huge then wakeSides(readers, writers, alive, now, 'r', ARGV[5], 2) end
  end
  return { 1, '' }
end

local ends = -2
if side == 'w' then ends = call('ZRANGE', holders, -1, -1, 'WITHSCORES')[2] - now end
if me == '' then return { 0, ends, -1, left } end
enqueueSide(readers, writers, alive, me, now + ARGV[4])
if side ~= 'w' then wakeSides(readers, writers, alive, now, side, ARGV[5], 2) end
return { 0, ends, call('ZCOUNT', writers, '-inf', '(' .. call('ZSCORE', readers, me)), left }
