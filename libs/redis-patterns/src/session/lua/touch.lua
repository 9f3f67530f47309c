--- Begins the idle time of a session anew.
--- KEYS[1] record: string  the session
--- ARGV[1] hash: string  of the secret that the caller has
--- ARGV[2] idleMs: number  its idle time from now on, milliseconds
--- RETURNS 0 | 1  0: there is none
--- EFFECT idempotent
--- @include lib/valid.lua
--- @include lib/touch.lua
if not valid then return 0 end
if idle == ARGV[2] then
  touch(KEYS[1], tonumber(idle), tonumber(absolute))
else
  -- First, so that the write after it is not refused when memory is full.
  moveEnd(KEYS[1], math.min(now + tonumber(ARGV[2]), tonumber(absolute)))
  call('HSET', KEYS[1], '_i', ARGV[2])
end
return 1
