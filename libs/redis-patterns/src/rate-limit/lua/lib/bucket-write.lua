-- Rounded up: to lose a part of a step each time would make the rate a higher one.
local fill = math.ceil(slots[i] + n * left - 1e-3)
-- One more, as the expiry counts from the whole millisecond.
redis.call('SET', k, string.format('%.0f', us + fill), 'PX', math.ceil(fill / 1000) + 1)
reply[i * 3 + 2] = math.ceil(fill / 1000)
