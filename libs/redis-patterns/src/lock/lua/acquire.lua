--- Takes a lock if it is free. Finds its own earlier grant again when the reply to that was lost.
--- KEYS[1] lockKey: string  the lock: token of its holder
--- KEYS[2] fenceKey: string  last fence of this lock
--- ARGV[1] token: string  token of this acquisition
--- ARGV[2] leaseMs: number  lease, milliseconds
--- ARGV[3] fenceTtlMs: number  how long the last fence is remembered, milliseconds
--- RETURNS [granted: 1, fence: string, nowMs: number] | [granted: 0, leftMs: number]  fence and server time, or how long the holder's lease lasts (-1: for ever)
--- EFFECT token
local call = redis.call
local time = call('TIME')
local micros = time[1] * 1000000 + time[2]
local now = math.floor(micros / 1000)

local holder = call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2], 'GET')
if holder and holder ~= ARGV[1] then
  return { 0, call('PTTL', KEYS[1]) }
end
if holder then
  -- Our earlier attempt was granted: a full lease from now, and the fence that it took.
  call('PEXPIRE', KEYS[1], ARGV[2])
  local fence = call('GET', KEYS[2])
  if fence then
    return { 1, fence, now }
  end
end

-- max(last + 1, time in microseconds): still grows when the fence key was lost, and is exact in a double until 2255. As
-- text, because a number in a reply is cut to an integer and read as a double by clients.
local fence = string.format('%.0f', micros)
local last = tonumber(call('SET', KEYS[2], fence, 'PX', ARGV[3], 'GET') or 0) or 0
if last >= micros then
  fence = string.format('%.0f', last + 1)
  call('SET', KEYS[2], fence, 'PX', ARGV[3])
end
return { 1, fence, now }
