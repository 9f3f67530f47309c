--- Takes units from all policies of a subject, or from none of them. Refused calls and peeks change no count.
--- KEYS[1...] stateKeys: string           one for each policy, all of one slot
--- ARGV[1] mode: 'take' | 'peek'          peek only looks, and writes nothing
--- ARGV[2...] policies: string | number   five for each key: algorithm, limit, window in ms, cost, and what the algorithm needs besides
--- RETURNS number[]   0 | 1 (allowed), server time in µs, then for each policy: wait in ms (0 has room, -1 never), units left, ms until all are back
--- EFFECT once
-- Read once: inside of a script TIME moves on before Redis 7.2.
local time = redis.call('TIME')
local us = time[1] * 1000000 + time[2]
local now = math.floor(us / 1000)
local take = ARGV[1] == 'take'
local allowed = 1
local reply = { 1, us }
-- What the checks leave for the writes, by policy: where to count, how long it lives, and what to clear away.
local slots, lives, dead = {}, {}, {}
for i = 1, #KEYS do
  local k, kind = KEYS[i], ARGV[i * 5 - 3]
  local L, W, n, x = tonumber(ARGV[i * 5 - 2]), tonumber(ARGV[i * 5 - 1]), tonumber(ARGV[i * 5]), ARGV[i * 5 + 1]
  local rem, reset, wait = L, 0, 0
  if kind == 'sliding-window' then
--- @include lib/sliding-check.lua
  else
--- @include lib/fixed-check.lua
  end
  if n > L then wait = -1 end
  if wait ~= 0 then allowed = 0 end
  reply[i * 3], reply[i * 3 + 1], reply[i * 3 + 2] = wait, math.max(0, rem), reset
end
reply[1] = allowed
if allowed == 0 or not take then return reply end
for i = 1, #KEYS do
  local k, n, left = KEYS[i], tonumber(ARGV[i * 5]), lives[i]
  if n > 0 then
    if ARGV[i * 5 - 3] == 'sliding-window' then
--- @include lib/sliding-write.lua
    else
--- @include lib/fixed-write.lua
    end
    reply[i * 3 + 1] = reply[i * 3 + 1] - n
  end
end
return reply
