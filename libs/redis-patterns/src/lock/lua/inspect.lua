--- Tells who holds a lock.
--- KEYS[1] lockKey: string  the lock
--- KEYS[2] fenceKey: string  last fence of this lock
--- RETURNS [token: string, leftMs: number, fence: string] | null  token and time left of the holder (-1: for ever), its fence or ''
--- EFFECT read
local holder = redis.call('GET', KEYS[1])
if not holder then
  return false
end
return { holder, redis.call('PTTL', KEYS[1]), redis.call('GET', KEYS[2]) or '' }
