--- Reads the payload of a token that is not used up. A script, so that the master is asked whatever `readFrom` says.
--- KEYS[1] record: string  the token, by its hash
--- RETURNS null | string  payload; null: there is none, or it was used up
--- EFFECT read
local payload, user = unpack(redis.call('HMGET', KEYS[1], 'v', 'u'))
return not user and payload
