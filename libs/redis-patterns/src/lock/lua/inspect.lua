--- Tells who holds a lock, and how many wait for it.
--- KEYS[1] lockKey: string  the lock
--- KEYS[2] fenceKey: string  last fence of this lock
--- KEYS[3] queueKey: string  waiter -> ticket
--- RETURNS [token: string, leftMs: number, fence: string, waiting: number] | null  token and time left of the holder (-1: for ever), its fence or '', waiters
--- EFFECT read
local holder = redis.call('GET', KEYS[1])
if not holder then
  return false
end
return { holder, redis.call('PTTL', KEYS[1]), redis.call('GET', KEYS[2]) or '', redis.call('ZCARD', KEYS[3]) }
