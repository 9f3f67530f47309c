--- Deletes an entry that was stored under a token which its tag has no more. One that was stored anew stays.
--- KEYS[1] entryKey: string      the entry
--- ARGV[1] mark: string          `,<tag>=<token>,`
--- RETURNS 0 | 1                 1 when it was deleted
--- EFFECT idempotent
-- 100 tags of 128 bytes, each escaped, with their tokens: a header is never longer than this.
local tags = string.match(redis.call('GETRANGE', KEYS[1], 0, 65535), '^~1;[^\n]*;g=([^\n]*)\n')
if not tags or not string.find(',' .. tags .. ',', ARGV[1], 1, true) then return 0 end
return redis.call('UNLINK', KEYS[1])
