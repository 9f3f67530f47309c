--- Takes the write side when nobody holds the lock and nobody has waited longer; else joins the queue of writers.
--- KEYS[1] holdersKey: string  'r<token>' or 'w<token>' -> end of the lease, server milliseconds
--- KEYS[2] readersKey: string  waiting reader -> ticket
--- KEYS[3] writersKey: string  waiting writer -> ticket
--- KEYS[4] aliveKey: string  waiter -> alive until, server milliseconds
--- KEYS[5] fenceKey: string  last fence of this lock
--- ARGV[1] token: string  token of this acquisition
--- ARGV[2] leaseMs: number  lease, milliseconds
--- ARGV[3] fenceTtlMs: number  how long the last fence is remembered, milliseconds
--- ARGV[4] waiter: string  who waits, or '' to be refused at once
--- ARGV[5] livenessMs: number  how long the waiter counts as alive, milliseconds
--- ARGV[6] wakePrefix: string  channel of a process, without its id
--- RETURNS [granted: 1, fence: string] | [granted: 0, leftMs: number, rank: number, headMs: number]  the fence; or until all leases have ended (-2: free, for others), waiters that come first (-1: not in the queue), how long the first of them is known to live
--- EFFECT token
--- @include lib/fence.lua
--- @include lib/queue.lua
--- @include lib/sides.lua
local call = redis.call
local holders, readers, writers, alive, fenceKey = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local mine, me = 'w' .. ARGV[1], ARGV[4]
local time = call('TIME')
local micros = time[1] * 1000000 + time[2]
local now = math.floor(micros / 1000)

local side = sideOf(holders, now)
if side == 'w' and call('ZSCORE', holders, mine) then
  -- Our earlier attempt was granted: a full lease from now, and the fence that it took.
  hold(holders, mine, now + ARGV[2])
  return { 1, call('GET', fenceKey) or nextFence(fenceKey, micros, ARGV[3]) }
end
local writer, turn, writerLeft = firstOf(writers, alive, now)
local reader, ticket, readerLeft = firstOf(readers, alive, now)
-- A crowd of the dead: come back at once.
if (writer and writerLeft == 0) or (reader and readerLeft == 0) then return { 0, 0, 0, 0 } end
local head, left = writer, writerLeft
if ticket < turn then head, left = reader, readerLeft end

if not side and (not head or head == me) then
  hold(holders, mine, now + ARGV[2])
  if me ~= '' then dequeue(writers, alive, me) end
  return { 1, nextFence(fenceKey, micros, ARGV[3]) }
end

local ends = side and call('ZRANGE', holders, -1, -1, 'WITHSCORES')[2] - now or -2
if me == '' then return { 0, ends, -1, left } end
enqueueSide(writers, readers, alive, me, now + ARGV[5])
if side ~= 'w' then wakeSides(readers, writers, alive, now, side, ARGV[6], 2) end
local before = '(' .. call('ZSCORE', writers, me)
return { 0, ends, call('ZCOUNT', writers, '-inf', before) + call('ZCOUNT', readers, '-inf', before), left }
