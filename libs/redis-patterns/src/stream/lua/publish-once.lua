--- Appends a message unless one with the same dedup id was published lately. A repetition finds the first one.
--- KEYS[1] stream: string
--- KEYS[2] dedup: string
--- ARGV[1] dedupTtlMs: number
--- ARGV[2] maxLen: number     of the stream when its retention is hard, else 0
--- ARGV[3...] fields: string  names and values
--- RETURNS string  id of the first one
--- EFFECT token
local known = redis.call('GET', KEYS[2])
if known then return known end
local fields = {}
for i = 3, #ARGV do fields[#fields + 1] = ARGV[i] end
local id
if ARGV[2] == '0' then
  id = redis.call('XADD', KEYS[1], '*', unpack(fields))
else
  id = redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[2], '*', unpack(fields))
end
redis.call('SET', KEYS[2], id, 'PX', ARGV[1])
return id
