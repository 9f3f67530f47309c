--- Takes permits if enough are free and nobody has waited longer; else joins the queue. Finds its own earlier grant again.
--- KEYS[1] leasesKey: string  '<permits>|<token>' -> end of the lease, server milliseconds; '' -> permits in use
--- KEYS[2] queueKey: string  waiter -> ticket
--- KEYS[3] aliveKey: string  waiter -> alive until, server milliseconds
--- ARGV[1] token: string  token of this acquisition
--- ARGV[2] leaseMs: number  lease, milliseconds
--- ARGV[3] permits: number  how many it takes
--- ARGV[4] limit: number  how many there are
--- ARGV[5] waiter: string  who waits, or '' to be refused at once
--- ARGV[6] livenessMs: number  how long the waiter counts as alive, milliseconds
--- ARGV[7] wakePrefix: string  channel of a process, without its id
--- RETURNS [granted: 1, fence: string] | [granted: 0, leftMs: number, rank: number, headMs: number]  no fence; or until the next lease ends (-2: enough is free, for others), place in the queue (-1: none), how long its head is known to live
--- EFFECT token
--- @include lib/queue.lua
--- @include lib/permits.lua
local call = redis.call
local leases, queue, alive = KEYS[1], KEYS[2], KEYS[3]
local permits, limit, me, prefix = tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5], ARGV[7]
local mine = ARGV[3] .. '|' .. ARGV[1]
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local used = permitsInUse(leases, now)
local again = call('ZSCORE', leases, mine)
local head, left = nil, 0
if not again and call('EXISTS', queue) == 1 then
  head, left = liveHead(queue, alive, now)
  -- A crowd of the dead: come back at once.
  if head and left == 0 then return { 0, 0, 0, 0 } end
end

local room = used + permits <= limit
if again or (room and (not head or head == me)) then
  if not again then
    used = used + permits
    call('ZINCRBY', leases, permits, '')
  end
  call('ZADD', leases, now + ARGV[2], mine)
  expireWithLast(leases)
  if me ~= '' then dequeue(queue, alive, me) end
  -- There may be room for the next one, too.
  wakeFirst(queue, alive, now, limit - used, prefix)
  return { 1, '' }
end

local ends = -2
if not room then
  local first = call('ZRANGE', leases, 1, 1, 'WITHSCORES')[2]
  ends = first and math.max(1, first - now) or 1
end
if me == '' then return { 0, ends, -1, left } end
enqueue(queue, alive, me, now + ARGV[6])
if room then wakeFirst(queue, alive, now, limit - used, prefix) end
return { 0, ends, call('ZRANK', queue, me), left }
