-- A string with the time in µs at which the bucket is full again (the generic cell rate algorithm, GCRA).
local stored = redis.pcall('GET', k)
if type(stored) == 'table' then
  -- The policy had another algorithm: it begins anew.
  if string.sub(stored.err, 1, 9) ~= 'WRONGTYPE' then return stored end
  dead[i], stored = true, false
end
capacity = tonumber(x)
local step = W * 1000 / L
local depth = capacity * step
-- Within these bounds, whatever the clock and the limit were before.
local fill = math.min(math.max((tonumber(stored or us) or us) - us, 0), depth)
-- What a fraction of a microsecond lost to rounding must not decide.
local slack = 1e-3 + depth * 1e-15
local need = fill + n * step - depth
rem, reset = math.floor((depth - fill + slack) / step), math.ceil(fill / 1000)
if need > slack then wait = math.max(1, math.ceil(need / 1000)) end
slots[i], lives[i] = fill, step
