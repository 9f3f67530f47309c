--- @include clock.lua
--- @include tolerant.lua
-- Index and records may be on servers whose clocks differ: no entry goes before its session does.
local SKEW = 300000

local function prune(key)
  byTheWay('ZREMRANGEBYSCORE', key, '-inf', now - SKEW)
end

local function put(key, handle, at)
  call('ZADD', key, at, handle)
  call('PEXPIREAT', key, call('ZRANGE', key, -1, -1, 'WITHSCORES')[2] + SKEW)
end
