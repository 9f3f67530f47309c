local call = redis.call
-- Read once: inside of a script TIME moves on before Redis 7.2.
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
