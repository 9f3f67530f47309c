-- A string with the count, which expires with its window.
local stored = redis.pcall('GET', k)
if type(stored) == 'table' then
  -- The policy had another algorithm: its window begins anew.
  if string.sub(stored.err, 1, 9) ~= 'WRONGTYPE' then return stored end
  stored = false
end
local full = x == 'clock' and W - now % W or W
local used, rest = stored and tonumber(stored), 0
-- No limit is so high: it is the time of a token bucket.
if used and used > 1e13 then used = nil end
if used then
  -- Compared with the time that was read, and not with a later one: a unit counts in the window of its own time.
  local ends = redis.call('PEXPIRETIME', k)
  rest = ends - now
  if ends < 0 or rest > W then
    -- Without an end, or with one beyond the window: the window was shortened, or the server's clock went back.
    rest = full
    if take then redis.call('PEXPIRE', k, rest) end
  end
  if rest <= 0 then used = nil end
end
if used then
  slots[i], lives[i], rem, reset = 'live', rest, L - used, rest
  if n > rem then wait = rest end
else
  slots[i], lives[i] = 'new', full
end
