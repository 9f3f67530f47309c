--- Gives units back. Never below none, never to a newer window than that of the charge; makes no key and no key live longer.
--- KEYS[1...] stateKeys: string           one for each policy, all of one slot
--- ARGV[1] at: number                     server time of the charge in µs; 0 when it is not known: then the newest units
--- ARGV[2...] policies: string | number   five for each key: algorithm, limit, window in ms, units, and what the algorithm needs besides
--- RETURNS 1
--- EFFECT once
local time = redis.call('TIME')
local us = time[1] * 1000000 + time[2]
local at = tonumber(ARGV[1])
for i = 1, #KEYS do
  local k, a = KEYS[i], i * 5
  local kind, L, W, n, x = ARGV[a - 3], tonumber(ARGV[a - 2]), tonumber(ARGV[a - 1]), tonumber(ARGV[a]), ARGV[a + 1]
  local type = redis.call('TYPE', k).ok
  if kind == 'sliding-window' and type == 'hash' then
    local b, fields = W / tonumber(x), {}
    if at > 0 then
      fields[1] = string.format('%.0f:%.14g', math.floor(math.floor(at / 1000) / b), b)
    else
      fields = redis.call('HKEYS', k)
      local function ending(field)
        local index, length = string.match(field, '^(%d+):([%d.]+)$')
        return ((tonumber(index) or -1) + 1) * (tonumber(length) or 0)
      end
      table.sort(fields, function(one, other) return ending(one) > ending(other) end)
    end
    for _, field in ipairs(fields) do
      local there = tonumber(redis.call('HGET', k, field)) or 0
      if there > n then
        redis.call('HINCRBY', k, field, -n)
        n = 0
      elseif there > 0 then
        redis.call('HDEL', k, field)
        n = n - there
      end
      if n == 0 then break end
    end
  elseif kind == 'token-bucket' and type == 'string' then
    local step = W * 1000 / L
    local back = n * step
    -- What has flowed back by itself since then is not given back once more.
    if at > 0 then back = back - math.max(0, us - at) end
    if back > 0 then
      local fill = math.ceil((tonumber(redis.call('GET', k)) or us) - back - us)
      if fill > 0 then
        redis.call('SET', k, string.format('%.0f', us + fill), 'PX', math.ceil(fill / 1000) + 1)
      else
        redis.call('DEL', k)
      end
    end
  elseif kind == 'fixed-window' and type == 'string' then
    local ends = redis.call('PEXPIRETIME', k)
    if at == 0 or math.floor(at / 1000) >= ends - W then
      if (tonumber(redis.call('GET', k)) or 0) > n then redis.call('DECRBY', k, n) else redis.call('DEL', k) end
    end
  elseif kind == 'sliding-log' and type == 'list' then
    if at > 0 then
      redis.call('LREM', k, -n, string.format('%.0f', at))
    else
      redis.call('LTRIM', k, 0, -n - 1)
    end
  end
  if redis.call('PTTL', k) == -1 then redis.call('PEXPIRE', k, W) end
end
return 1
