--- Ends the fresh time of an entry; a stale copy, where it has one, stays for its stale time. Keeps running loads from storing.
--- KEYS[1] entryKey: string      the entry
--- KEYS[2] leaseKey: string      its lease
--- RETURNS 0 | 1                 1 when there was an entry
--- EFFECT idempotent
redis.call('DEL', KEYS[2])
local stale = string.match(redis.call('GETRANGE', KEYS[1], 0, 191), '^~1;v=%d*;i=[^;]*;w=(%d+)')
if not stale or stale == '0' then return redis.call('DEL', KEYS[1]) end
if redis.call('PTTL', KEYS[1]) > tonumber(stale) then redis.call('PEXPIRE', KEYS[1], stale) end
return 1
