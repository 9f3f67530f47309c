--- Takes a lock if it is free and nobody has waited longer; else joins the queue. Finds its own earlier grant again when the
--- reply to that was lost.
--- KEYS[1] lockKey: string  the lock: token of its holder
--- KEYS[2] fenceKey: string  last fence of this lock
--- KEYS[3] queueKey: string  waiter -> ticket
--- KEYS[4] aliveKey: string  waiter -> alive until, server milliseconds
--- ARGV[1] token: string  token of this acquisition
--- ARGV[2] leaseMs: number  lease, milliseconds
--- ARGV[3] fenceTtlMs: number  how long the last fence is remembered, milliseconds
--- ARGV[4] waiter: string  '<token>|<leaseMs>|<kind>' if it waits, or '' to be refused at once
--- ARGV[5] livenessMs: number  how long the waiter counts as alive, milliseconds
--- ARGV[6] fair: 1 | 0  whether those who wait come first
--- ARGV[7] wakePrefix: string  channel of a process, without its id
--- RETURNS [granted: 1, fence: string] | [granted: 0, leftMs: number, rank: number, headMs: number, lastFence: string]  the fence; or how long the lease lasts (-1: for ever, -2: free, for others), place in the queue (-1: none), how long its head is known to live, the last fence if it waits
--- EFFECT token
--- @include lib/fence.lua
--- @include lib/queue.lua
local call = redis.call
local lock, fenceKey, queue, alive = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local token, me = ARGV[1], ARGV[4]
local time = call('TIME')
local micros = time[1] * 1000000 + time[2]
local now = math.floor(micros / 1000)

local head, left = nil, 0
local inOrder = ARGV[6] == '1' and call('EXISTS', queue) == 1
if inOrder then
  head, left = liveHead(queue, alive, now)
  -- A crowd of the dead: come back at once.
  if head and left == 0 then return { 0, 0, 0, 0, '' } end
end

local holder
if inOrder and head and head ~= me then
  holder = call('GET', lock) or ''
else
  holder = call('SET', lock, token, 'NX', 'PX', ARGV[2], 'GET')
end
if not holder then
  if me ~= '' then dequeue(queue, alive, me) end
  return { 1, nextFence(fenceKey, micros, ARGV[3]) }
end
if holder == token then
  -- Our earlier attempt was granted: a full lease from now, and the fence that it took.
  call('PEXPIRE', lock, ARGV[2])
  return { 1, call('GET', fenceKey) or nextFence(fenceKey, micros, ARGV[3]) }
end

if me == '' then return { 0, call('PTTL', lock), -1, left, '' } end
enqueue(queue, alive, me, now + ARGV[5])
-- Who hands it over does not know our lease.
call('PEXPIRE', fenceKey, ARGV[3], 'GT')
if holder == '' then wake(ARGV[7], head) end
return { 0, call('PTTL', lock), call('ZRANK', queue, me), left, call('GET', fenceKey) or '' }
