-- A list with the server's time in µs of each unit, oldest first.
local len = redis.pcall('LLEN', k)
if type(len) == 'table' then
  -- The policy had another algorithm: it begins anew.
  if string.sub(len.err, 1, 9) ~= 'WRONGTYPE' then return len end
  dead[i], len = true, 0
end
local span, gone, last = W * 1000, 0, 0
if len > 0 then
  last = tonumber(redis.call('LINDEX', k, -1)) or 0
  if last <= us - span or last > us + span then
    -- All too old; or the clock went back by more than a window.
    gone, last = len, 0
  elseif (tonumber(redis.call('LINDEX', k, 0)) or 0) <= us - span then
    -- The first unit of the window, between one that is too old and one that is not.
    local low, high = 0, len - 1
    while high - low > 1 do
      local middle = math.floor((low + high) / 2)
      if (tonumber(redis.call('LINDEX', k, middle)) or 0) <= us - span then low = middle else high = middle end
    end
    gone = high
  end
end
rem = L - (len - gone)
if len > gone then reset = math.ceil((last + span - us) / 1000) end
if n > rem and n <= L then
  -- The unit that must leave before n fit.
  local unit = tonumber(redis.call('LINDEX', k, gone + n - rem - 1)) or us
  wait = math.max(1, math.ceil((unit + span - us) / 1000))
end
slots[i], lives[i] = last, gone
