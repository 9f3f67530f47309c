--- Uses a token up; gives its payload to one attempt.
--- KEYS[1] record: string  the token, by its hash
--- ARGV[1] attempt: string  of this call alone
--- ARGV[2] rememberMs: number  how long the attempt is told from others, milliseconds
--- RETURNS null | string  payload; null: there is none, or it was used up
--- EFFECT token
local payload, user = unpack(redis.call('HMGET', KEYS[1], 'v', 'u'))
-- Its own attempt: the reply to it was lost.
if not payload or (user and user ~= ARGV[1]) then return false end
-- First, so that the write after it is not refused when memory is full.
redis.call('PEXPIRE', KEYS[1], ARGV[2], 'LT')
redis.call('HSET', KEYS[1], 'u', ARGV[1])
return payload
