--- Gives a session another secret. The one before stays valid for a while, so that parallel requests with it are not lost.
--- KEYS[1] record: string  the session
--- ARGV[1] hash: string  of the secret that the caller has
--- ARGV[2] newHash: string  of the new one
--- ARGV[3] graceMs: number  how long the one before stays valid, milliseconds; 0: no other secret is valid any more
--- ARGV[4] principal: string  whose session it is from now on; '' leaves that as it is
--- ARGV[5] turn: number  of that; 0 without a principal
--- RETURNS 0 | 1 | 2  0: there is none; 1: done; 2: another rotation was less than its grace ago, so all secrets stay as they are
--- EFFECT token
--- @include lib/valid.lua
--- @include lib/touch.lua
-- The reply to an earlier attempt was lost.
if alive and hash == ARGV[2] then return 1 end
if not valid then return 0 end
local graceMs = tonumber(ARGV[3])
-- Whoever still has the secret before keeps all of its grace: no second rotation while that lasts.
if graceMs > 0 and previous and tonumber(grace) > now then return 2 end
call('HSET', KEYS[1], '_h', ARGV[2])
if graceMs > 0 then
  call('HSET', KEYS[1], '_p', ARGV[1], '_g', now + graceMs)
else
  call('HDEL', KEYS[1], '_p', '_g')
end
if ARGV[4] ~= '' then call('HSET', KEYS[1], '_u', ARGV[4], '_t', ARGV[5]) end
touch(KEYS[1], tonumber(idle), tonumber(absolute))
return 1
