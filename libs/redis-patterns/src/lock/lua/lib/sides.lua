-- Holders of a read/write lock: 'r<token>' or 'w<token>' with the end of the lease, server milliseconds. Two queues share
-- one order of tickets: who has a smaller one came earlier, on whichever side.

-- 'w' while a writer holds it, 'r' while readers do, else nil; leases that have ended are dropped before.
local function sideOf(holders, now)
  redis.call('ZREMRANGEBYSCORE', holders, '-inf', now)
  local first = redis.call('ZRANGE', holders, 0, 0)[1]
  return first and string.sub(first, 1, 1)
end

local function hold(holders, member, ends)
  redis.call('ZADD', holders, 'GT', ends, member)
  redis.call('PEXPIREAT', holders, redis.call('ZRANGE', holders, -1, -1, 'WITHSCORES')[2])
end

-- The first of a queue that is alive, with its ticket (nobody: infinite) and for how many milliseconds more it lives.
local function firstOf(queue, alive, now)
  local head, left = liveHead(queue, alive, now)
  return head, head and tonumber(redis.call('ZSCORE', queue, head)) or math.huge, left
end

local function lastTicket(queue)
  return tonumber(redis.call('ZRANGE', queue, -1, -1, 'WITHSCORES')[2] or 0)
end

-- Puts a waiter into its queue unless it stands there already, and says that it is alive. All three keys live equally long.
local function enqueueSide(mine, other, alive, waiter, aliveUntil)
  if not redis.call('ZSCORE', mine, waiter) then
    redis.call('ZADD', mine, math.max(lastTicket(mine), lastTicket(other)) + 1, waiter)
  end
  redis.call('ZADD', alive, aliveUntil, waiter)
  for _, key in ipairs({ mine, other, alive }) do redis.call('PEXPIRE', key, 60000) end
end

-- Wakes who can enter now: the writer whose turn it is, or up to `most` readers that came before the first writer.
local function wakeSides(readers, writers, alive, now, side, prefix, most)
  if side == 'w' then return end
  local writer, turn, writerLeft = firstOf(writers, alive, now)
  local reader, ticket, readerLeft = firstOf(readers, alive, now)
  if turn < ticket then
    if not side and writerLeft > 0 then wake(prefix, writer) end
    return
  end
  if not reader or readerLeft == 0 then return end
  local before = turn == math.huge and '+inf' or '(' .. turn
  for _, waiter in ipairs(redis.call('ZRANGEBYSCORE', readers, '-inf', before, 'LIMIT', 0, most)) do
    wake(prefix, waiter)
  end
end
