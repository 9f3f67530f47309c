--- Takes a lock on one of several nodes if it is free there. Finds its own earlier grant again. Nobody queues.
--- KEYS[1] lockKey: string  the lock: token of its holder
--- KEYS[2] fenceKey: string  last fence of this lock
--- ARGV[1] token: string  token of this attempt, the same on all nodes
--- ARGV[2] leaseMs: number  lease, milliseconds
--- ARGV[3] fenceTtlMs: number  how long the last fence is remembered, milliseconds
--- ARGV[4] guardMs: number  how long a node must have run before it votes, milliseconds
--- RETURNS [granted: 1, fence: string] | [granted: 0, leftMs: number, rank: number, headMs: number]  the fence of this node; or how long the lease lasts (-1: for ever, -3: the node does not vote yet), no rank, no head
--- EFFECT token
--- @include lib/fence.lua
local call = redis.call
local guard = tonumber(ARGV[4])
if guard > 0 then
  -- It may have granted this lock before it was started anew, and have forgotten that.
  local age = string.match(call('INFO', 'server'), 'uptime_in_seconds:(%d+)') * 1000
  if age < guard then return { 0, -3, -1, 0 } end
end
local holder = call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2], 'GET')
if holder and holder ~= ARGV[1] then return { 0, call('PTTL', KEYS[1]), -1, 0 } end
local time = call('TIME')
local micros = time[1] * 1000000 + time[2]
if holder then
  call('PEXPIRE', KEYS[1], ARGV[2])
  return { 1, call('GET', KEYS[2]) or nextFence(KEYS[2], micros, ARGV[3]) }
end
return { 1, nextFence(KEYS[2], micros, ARGV[3]) }
