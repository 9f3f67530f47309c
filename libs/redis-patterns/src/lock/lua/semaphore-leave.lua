--- Gives permits back, takes the caller out of the queue, and wakes who is next. Also works when memory is full.
--- KEYS[1] leasesKey: string  '<permits>|<token>' -> end of the lease, server milliseconds; '' -> permits in use
--- KEYS[2] queueKey: string  waiter -> ticket
--- KEYS[3] aliveKey: string  waiter -> alive until, server milliseconds
--- ARGV[1] token: string  token of the acquisition
--- ARGV[2] permits: number  how many it took
--- ARGV[3] limit: number  how many there are
--- ARGV[4] waiter: string  the same caller as a waiter, or ''
--- ARGV[5] wakePrefix: string  channel of a process, without its id
--- RETURNS 1 | -1  1 given back, -1 the lease had ended
--- EFFECT idempotent
--- @include lib/queue.lua
--- @include lib/permits.lua
local call = redis.call
local leases, queue, alive = KEYS[1], KEYS[2], KEYS[3]
local mine = ARGV[2] .. '|' .. ARGV[1]
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

if ARGV[4] ~= '' then dequeue(queue, alive, ARGV[4]) end
local used = permitsInUse(leases, now)
local held = call('ZREM', leases, mine)
if held == 1 then
  used = used - permitsOf(mine)
  call('ZINCRBY', leases, -permitsOf(mine), '')
end
if used < 1 then call('DEL', leases) end
wakeFirst(queue, alive, now, ARGV[3] - used, ARGV[5])
return held == 1 and 1 or -1
