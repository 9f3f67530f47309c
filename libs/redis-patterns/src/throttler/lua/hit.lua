--- Counts a hit for each of several limits, or for none of them when one has no room. A refused hit is not counted, and
--- begins the block of each limit that is full.
--- KEYS[1...] hitKeys: string   one for each limit, all of one slot: the times of its hits in µs, or one item 'b<hits>' while it blocks
--- ARGV[1...] limits: number    three for each key: limit, ttl in ms, block in ms (0: until the oldest hit is over)
--- RETURNS number[]   for each limit: 0 | 1 (refused), hits, ms until the oldest hit is over or the block ends, time of the hit in µs
--- EFFECT once
-- Read once: inside of a script TIME moves on before Redis 7.2.
local time = redis.call('TIME')
local us = time[1] * 1000000 + time[2]
local refused, full, reply = false, {}, {}
for i = 1, #KEYS do
  local k, L, W = KEYS[i], tonumber(ARGV[i * 3 - 2]), tonumber(ARGV[i * 3 - 1]) * 1000
  local len, at, no, hits, rest = redis.call('LLEN', k), us, 0, 0, 0
  local first = len > 0 and redis.call('LINDEX', k, 0)
  if first and string.sub(first, 1, 1) == 'b' then
    rest = redis.call('PTTL', k)
    if rest > 0 then
      no, hits = 1, tonumber(string.sub(first, 2))
    else
      -- Its last millisecond, or a block without an end, which this script never writes.
      redis.call('DEL', k)
      len = 0
    end
  end
  if no == 0 then
    if len > 0 then
      local last = tonumber(redis.call('LINDEX', k, -1))
      if last > us + W then
        -- The clock was far ahead and is right again: these hits would never end.
        redis.call('DEL', k)
        len = 0
      else
        -- The list stays in order when the clock goes back a little.
        at = math.max(us, last)
      end
    end
    -- The first hit that still counts.
    local lo, hi, mid = 0, len, 0
    while lo < hi do
      if tonumber(redis.call('LINDEX', k, mid)) + W <= us then lo = mid + 1 else hi = mid end
      mid = math.floor((lo + hi) / 2)
    end
    if lo > 0 then
      redis.call('LTRIM', k, lo, -1)
      len = len - lo
    end
    hits = len
    -- Room comes when so many have ended that one fits: more than one, if the limit was lowered.
    local ending = len > 0 and redis.call('LINDEX', k, math.max(0, len - L)) or at
    if len + 1 > L then no, hits, full[i] = 1, len + 1, true end
    rest = math.ceil((tonumber(ending) + W - us) / 1000)
  end
  if no == 1 then refused = true end
  local r = i * 4 - 3
  reply[r], reply[r + 1], reply[r + 2], reply[r + 3] = no, hits, rest, at
end
for i = 1, #KEYS do
  local k, r, block = KEYS[i], i * 4 - 3, tonumber(ARGV[i * 3])
  if not refused then
    redis.call('RPUSH', k, string.format('%.0f', reply[r + 3]))
    redis.call('PEXPIRE', k, ARGV[i * 3 - 1])
    reply[r + 1] = reply[r + 1] + 1
  elseif full[i] and block > 0 then
    -- In this order a server without memory refuses the block and leaves the count alone.
    redis.call('RPUSH', k, 'b' .. reply[r + 1])
    redis.call('LTRIM', k, -1, -1)
    redis.call('PEXPIRE', k, block)
    reply[r + 2] = block
  end
end
return reply
