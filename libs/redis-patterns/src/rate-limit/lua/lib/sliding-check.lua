-- A hash with the counts of the latest sub-windows, each named by its index and its length: '294083334:6000'. A window touches at most
-- N + 1 of them, and each counts in full, so that no window of any position ever holds more than the limit. Those of another
-- length are of instances that have another window or N: they count as well, and are left to them.
local N = tonumber(x)
local b = W / N
local width = string.format('%.14g', b)
local cur = math.floor(now / b)
local p, sum, spans = cur, 0, {}
local h = redis.pcall('HGETALL', k)
dead[i] = {}
lives[i] = math.ceil(W + b)
if h.err then
  -- The policy had another algorithm: it begins anew.
  if string.sub(h.err, 1, 9) ~= 'WRONGTYPE' then return h end
  h, dead[i] = {}, false
end
local suffix = ':' .. width
local tail = -#suffix
local own, mixed = {}, false
for j = 1, #h, 2 do
  local name = h[j]
  if string.sub(name, tail) == suffix then
    local f = tonumber(string.sub(name, 1, tail - 1)) or -1
    own[j] = f
    -- The server's clock went back: stay where the count is.
    if f > p and f <= cur + N then p = f end
  else
    mixed = true
  end
end
for j = 1, #h, 2 do
  local f, v = own[j], b
  if f and f >= p - N and f <= p then
    spans[#spans + 1] = { (f + 1) * b, tonumber(h[j + 1]) or 0, f }
  else
    if not f then
      local index, length = string.match(h[j], '^(%d+):([%d.]+)$')
      f, v = tonumber(index), tonumber(length)
    end
    -- Of another window is known that it has 100 sub-windows at the most.
    if mixed and f and v and f * v <= now + v and (f + 101) * v > now then
      local ending = (f + 1) * v
      if ending + W > now then spans[#spans + 1] = { ending, tonumber(h[j + 1]) or 0 } end
      lives[i] = math.max(lives[i], math.ceil(ending + W - now), redis.call('PTTL', k))
    else
      -- Too old, or far ahead of a clock that went back.
      table.insert(dead[i], h[j])
    end
  end
end
slots[i] = string.format('%.0f', p) .. suffix
for _, span in ipairs(spans) do
  sum = sum + span[2]
  reset = math.max(reset, math.ceil(span[1] + W - now))
end
rem = L - sum
if n > rem and n <= L then
  -- Which sub-windows must leave before n fits?
  table.sort(spans, function(one, other) return one[1] < other[1] end)
  local j, need = 0, n - rem
  repeat
    j = j + 1
    need = need - spans[j][2]
  until need <= 0
  local e, f = spans[j][1], spans[j][3]
  wait = math.max(1, math.ceil(e + W - now))
  -- Rounding must not break the promise by a millisecond.
  if f and math.floor((now + wait) / b) <= f + N then wait = wait + 1 end
end
