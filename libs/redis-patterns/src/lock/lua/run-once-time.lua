--- Tells the time of the server that decides about the runs of a name.
--- KEYS[1] runKey: string  one of its keys: says which server is asked
--- RETURNS number  milliseconds
--- EFFECT read
assert(KEYS[1])
local time = redis.call('TIME')
return time[1] * 1000 + math.floor(time[2] / 1000)
