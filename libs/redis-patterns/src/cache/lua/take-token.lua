--- Gives the token of a tag; makes one when there is none.
--- KEYS[1] tagKey: string        the tag
--- ARGV[1] candidate: string     its token, if it has none
--- ARGV[2] ttl: number           how long the tag is remembered, milliseconds
--- ARGV[3] least: number         longest life of an entry: with less left the tag's own time is extended
--- RETURNS string                the token
--- EFFECT idempotent
local token = redis.call('GET', KEYS[1])
if not token then
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
  return ARGV[1]
end
-- Not at every use: each change of a tag is told to all who keep copies.
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[3]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return token
