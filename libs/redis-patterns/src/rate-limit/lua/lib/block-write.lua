-- Longer for each refusal that comes within twice the last block.
local first, escalate, most = string.match(ARGV[a + 2], '^(%d+):([%d.]+):(%d+)$')
local rest = math.min(tonumber(first) * tonumber(escalate) ^ level, tonumber(most))
wait = math.ceil(math.max(wait, rest))
redis.call('SET', KEYS[i * 2], string.format('%.0f:%d', now + wait, math.min(level + 1, 1000)), 'PX', 2 * wait)
