if dead[i] then redis.call('DEL', k) end
local at, W = math.max(us, slots[i]), tonumber(ARGV[i * 6 - 1])
local text = string.format('%.0f', at)
-- Counted before it is cleared: after any other write a full server would not refuse any more.
if n == 1 then
  redis.call('RPUSH', k, text)
else
  local many = {}
  for j = 1, n do many[j] = text end
  -- Lua passes some thousand arguments at the most.
  for j = 1, n, 5000 do redis.call('RPUSH', k, unpack(many, j, math.min(n, j + 4999))) end
end
if left > 0 then redis.call('LTRIM', k, left, -1) end
-- One more, as the expiry counts from the whole millisecond.
redis.call('PEXPIRE', k, W + 1)
reply[i * 3 + 2] = math.ceil((at - us) / 1000) + W
