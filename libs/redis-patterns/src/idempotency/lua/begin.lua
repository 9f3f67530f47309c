--- Begins a run if the key is free. Else tells what is known of the one that runs or has ended.
--- KEYS[1] record: string  state s (P running, C complete), fingerprint f, token t of the owner, result r
--- ARGV[1] fingerprint: string  of the payload
--- ARGV[2] token: string  of this run
--- ARGV[3] leaseMs: number  how long it may run without a renewal, milliseconds
--- RETURNS [state: 'new', fence: string] | [state: 'replay', result: string] | [state: 'busy', leftMs: number] | [state: 'mismatch']  fence: server time in microseconds
--- EFFECT token
local s, f, t, r = unpack(redis.call('HMGET', KEYS[1], 's', 'f', 't', 'r'))
if s and f ~= ARGV[1] then
  return { 'mismatch' }
end
if s == 'C' then
  return { 'replay', r }
end
-- Its own token: the reply to an earlier attempt was lost, so go on.
if s and t ~= ARGV[2] then
  return { 'busy', redis.call('PTTL', KEYS[1]) }
end
local time = redis.call('TIME')
redis.call('HSET', KEYS[1], 's', 'P', 'f', ARGV[1], 't', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
-- As text, because a number in a reply is read as a double by clients.
return { 'new', string.format('%.0f', time[1] * 1000000 + time[2]) }
