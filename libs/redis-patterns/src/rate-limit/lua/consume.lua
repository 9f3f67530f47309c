--- Takes units from all policies of a call, or from none of them. Refused calls and peeks change no count.
--- KEYS[1...] keys: string                two for each policy, all of one slot: its state, and its block
--- ARGV[1] mode: 'take' | 'some' | 'peek'   some takes what is there, and is refused only if that is nothing; peek only looks, and writes nothing
--- ARGV[2] deciding: number               how many policies decide; those that follow only watch
--- ARGV[3...] policies: string | number   six for each: algorithm, limit, window in ms, cost, what the algorithm needs besides, and block as for:escalate:max in ms, or 0
--- RETURNS number[]   units admitted of each policy at the most (0 refused; 1 in mode take), server time in µs, then for each policy: wait in ms (0 has room, -1 never), units left, ms until all are back
--- EFFECT once
-- Read once: inside of a script TIME moves on before Redis 7.2.
local time = redis.call('TIME')
local us = time[1] * 1000000 + time[2]
local now = math.floor(us / 1000)
local take, some, deciding = ARGV[1] ~= 'peek', ARGV[1] == 'some', tonumber(ARGV[2])
local units, count = 1, #KEYS / 2
local reply = { 1, us }
-- What the checks leave for the writes, by policy: where to count, how long it lives, and what to clear away.
local slots, lives, dead = {}, {}, {}
for i = 1, count do
  local k, a = KEYS[i * 2 - 1], i * 6
  local kind, L, W, n, x = ARGV[a - 3], tonumber(ARGV[a - 2]), tonumber(ARGV[a - 1]), tonumber(ARGV[a]), ARGV[a + 1]
  local capacity, rem, reset, wait = L, L, 0, 0
  -- One unit is enough to take some.
  if some and n > 1 then n = 1 end
  local block = redis.call('GET', KEYS[i * 2])
  local till, level = 0, 0
  if block then
    till, level = string.match(block, '^(%d+):(%d+)$')
    till, level = tonumber(till) or 0, tonumber(level) or 0
  end
  if till > now then
    wait, rem, reset = till - now, 0, till - now
  else
    if kind == 'sliding-window' then
--- @include lib/sliding-check.lua
    elseif kind == 'token-bucket' then
--- @include lib/bucket-check.lua
    elseif kind == 'fixed-window' then
--- @include lib/fixed-check.lua
    elseif kind == 'sliding-log' then
--- @include lib/log-check.lua
    else
--- @include lib/lease-check.lua
    end
    if n > capacity then
      wait = -1
    elseif wait > 0 and take and ARGV[a + 2] ~= '0' then
--- @include lib/block-write.lua
    end
  end
  if wait ~= 0 and i <= deciding then units = 0 end
  reply[i * 3], reply[i * 3 + 1], reply[i * 3 + 2] = wait, math.max(0, rem), reset
end
if units == 0 then
  reply[1] = 0
  return reply
end
if not take then return reply end
if some then
  -- The same number for all of them: what the tightest has.
  units = math.huge
  for i = 1, deciding do units = math.min(units, reply[i * 3 + 1]) end
  local most = 0
  for i = 1, deciding do most = math.max(most, math.min(units, tonumber(ARGV[i * 6]))) end
  reply[1] = most
end
for i = 1, count do
  local k, n, left = KEYS[i * 2 - 1], tonumber(ARGV[i * 6]), lives[i]
  if some and n > units then n = units end
  if n > 0 and reply[i * 3] == 0 then
    local kind = ARGV[i * 6 - 3]
    if kind == 'sliding-window' then
--- @include lib/sliding-write.lua
    elseif kind == 'token-bucket' then
--- @include lib/bucket-write.lua
    elseif kind == 'fixed-window' then
--- @include lib/fixed-write.lua
    elseif kind == 'sliding-log' then
--- @include lib/log-write.lua
    else
--- @include lib/lease-write.lua
    end
    reply[i * 3 + 1] = reply[i * 3 + 1] - n
  end
end
return reply
