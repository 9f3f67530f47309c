-- A hash with the counts of the latest sub-windows. A window touches at most N + 1 of them, and each counts in full, so that
-- no window of any position ever holds more than the limit.
local N = tonumber(x)
local b = W / N
local cur = math.floor(now / b)
local p, sum, counts = cur, 0, {}
local h = redis.pcall('HGETALL', k)
dead[i] = {}
if h.err then
  -- The policy had another algorithm: it begins anew.
  if string.sub(h.err, 1, 9) ~= 'WRONGTYPE' then return h end
  h, dead[i] = {}, false
end
for j = 1, #h, 2 do
  local f = tonumber(h[j])
  -- The server's clock went back: stay where the count is.
  if f and f > p and f <= cur + N then p = f end
end
for j = 1, #h, 2 do
  local f = tonumber(h[j])
  if f and f >= p - N and f <= p then
    counts[f] = tonumber(h[j + 1]) or 0
    sum = sum + counts[f]
  else
    -- Too old; or far ahead, as window or N were changed.
    table.insert(dead[i], h[j])
  end
end
slots[i], lives[i] = p, math.ceil(W + b)
rem = L - sum
if sum > 0 then reset = math.ceil((p + N + 1) * b - now) end
if n > rem and n <= L then
  -- Which sub-window must leave before n fits?
  local f, need = p - N - 1, n - rem
  repeat
    f = f + 1
    need = need - (counts[f] or 0)
  until need <= 0
  wait = math.max(1, math.ceil((f + N + 1) * b - now))
  -- Rounding must not break the promise by a millisecond.
  if math.floor((now + wait) / b) <= f + N then wait = wait + 1 end
end
