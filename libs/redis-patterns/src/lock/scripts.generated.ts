// Generated from lua/*.lua by `npm run lua`; do not edit.
import type { Script } from '../scripting/index.js';

/**
 * Takes a lock if it is free and nobody has waited longer; else joins the queue. Finds its own earlier grant again when the
 * reply to that was lost.
 *
 * - `KEYS[1]` lockKey: the lock: token of its holder
 * - `KEYS[2]` fenceKey: last fence of this lock
 * - `KEYS[3]` queueKey: waiter -> ticket
 * - `KEYS[4]` aliveKey: waiter -> alive until, server milliseconds
 * - `ARGV[1]` token: token of this acquisition
 * - `ARGV[2]` leaseMs: lease, milliseconds
 * - `ARGV[3]` fenceTtlMs: how long the last fence is remembered, milliseconds
 * - `ARGV[4]` waiter: '<token>|<leaseMs>|<kind>' if it waits, or '' to be refused at once
 * - `ARGV[5]` livenessMs: how long the waiter counts as alive, milliseconds
 * - `ARGV[6]` fair: whether those who wait come first
 * - `ARGV[7]` wakePrefix: channel of a process, without its id
 * - returns the fence; or how long the lease lasts (-1: for ever, -2: free, for others), place in the queue (-1: none), how long its head is known to live, the last fence if it waits
 */
export const acquireScript: Script<[lockKey: string, fenceKey: string, queueKey: string, aliveKey: string], [token: string, leaseMs: number, fenceTtlMs: number, waiter: string, livenessMs: number, fair: 1 | 0, wakePrefix: string], [granted: 1, fence: string] | [granted: 0, leftMs: number, rank: number, headMs: number, lastFence: string]> = {
  name: 'lock.acquire',
  sha: 'ee224a71c361b1145f2536a1b4a8e0f4203ec754',
  effect: 'token',
  lua: [
    "local function nextFence(key, micros, ttlMs)",
    "  local fence = string.format('%.0f', micros)",
    "  local last = tonumber(redis.call('SET', key, fence, 'PX', ttlMs, 'GET') or 0) or 0",
    "  if last >= micros then",
    "    fence = string.format('%.0f', last + 1)",
    "    redis.call('SET', key, fence, 'PX', ttlMs)",
    "  end",
    "  return fence",
    "end",
    "local function liveHead(queue, alive, now)",
    "  local head, left",
    "  for _ = 1, 200 do",
    "    head = redis.call('ZRANGE', queue, 0, 0)[1]",
    "    if not head then return nil, 0 end",
    "    left = (redis.call('ZSCORE', alive, head) or 0) - now",
    "    if left > 0 then return head, left end",
    "    redis.call('ZREM', queue, head)",
    "    redis.call('ZREM', alive, head)",
    "  end",
    "  return head, 0",
    "end",
    "local function enqueue(queue, alive, waiter, aliveUntil)",
    "  if not redis.call('ZSCORE', queue, waiter) then",
    "    local last = redis.call('ZRANGE', queue, -1, -1, 'WITHSCORES')[2] or 0",
    "    redis.call('ZADD', queue, last + 1, waiter)",
    "  end",
    "  redis.call('ZADD', alive, aliveUntil, waiter)",
    "  redis.call('PEXPIRE', queue, 60000)",
    "  redis.call('PEXPIRE', alive, 60000)",
    "end",
    "local function dequeue(queue, alive, waiter)",
    "  redis.call('ZREM', queue, waiter)",
    "  redis.call('ZREM', alive, waiter)",
    "end",
    "local function wake(prefix, waiter, fence)",
    "  redis.pcall('PUBLISH', prefix .. string.match(waiter, '^[^|]+'), fence and waiter .. ' ' .. fence or waiter)",
    "end",
    "local call = redis.call",
    "local lock, fenceKey, queue, alive = KEYS[1], KEYS[2], KEYS[3], KEYS[4]",
    "local token, me = ARGV[1], ARGV[4]",
    "local time = call('TIME')",
    "local micros = time[1] * 1000000 + time[2]",
    "local now = math.floor(micros / 1000)",
    "local head, left = nil, 0",
    "local inOrder = ARGV[6] == '1' and call('EXISTS', queue) == 1",
    "if inOrder then",
    "  head, left = liveHead(queue, alive, now)",
    "  if head and left == 0 then return { 0, 0, 0, 0, '' } end",
    "end",
    "local holder",
    "if inOrder and head and head ~= me then",
    "  holder = call('GET', lock) or ''",
    "else",
    "  holder = call('SET', lock, token, 'NX', 'PX', ARGV[2], 'GET')",
    "end",
    "if not holder then",
    "  if me ~= '' then dequeue(queue, alive, me) end",
    "  return { 1, nextFence(fenceKey, micros, ARGV[3]) }",
    "end",
    "if holder == token then",
    "  call('PEXPIRE', lock, ARGV[2])",
    "  return { 1, call('GET', fenceKey) or nextFence(fenceKey, micros, ARGV[3]) }",
    "end",
    "if me == '' then return { 0, call('PTTL', lock), -1, left, '' } end",
    "enqueue(queue, alive, me, now + ARGV[5])",
    "call('PEXPIRE', fenceKey, ARGV[3], 'GT')",
    "if holder == '' then wake(ARGV[7], head) end",
    "return { 0, call('PTTL', lock), call('ZRANK', queue, me), left, call('GET', fenceKey) or '' }",
  ].join('\n'),
};

/**
 * Makes a lock last at least one more lease, if the caller still holds it. Never shortens it and never creates it again.
 *
 * - `KEYS[1]` lockKey: the lock
 * - `ARGV[1]` token: token of the acquisition
 * - `ARGV[2]` leaseMs: lease from now, milliseconds
 * - returns 1 extended, 0 somebody else holds it, -1 nobody does
 */
export const extendScript: Script<[lockKey: string], [token: string, leaseMs: number], 1 | 0 | -1> = {
  name: 'lock.extend',
  sha: '86bdca300c2c301ef55c5ae653c2eeaab7edc9f3',
  effect: 'idempotent',
  lua: [
    "local holder = redis.call('GET', KEYS[1])",
    "if not holder then",
    "  return -1",
    "end",
    "if holder ~= ARGV[1] then",
    "  return 0",
    "end",
    "redis.call('PEXPIRE', KEYS[1], ARGV[2], 'GT')",
    "return 1",
  ].join('\n'),
};

/**
 * Takes a lock from whoever holds it, and hands it over to who is next.
 *
 * - `KEYS[1]` lockKey: the lock
 * - `KEYS[2]` fenceKey: last fence of this lock
 * - `KEYS[3]` queueKey: waiter -> ticket
 * - `KEYS[4]` aliveKey: waiter -> alive until, server milliseconds
 * - `ARGV[1]` fenceTtlMs: how long the last fence is remembered at least, milliseconds
 * - `ARGV[2]` wakePrefix: channel of a process, without its id
 * - returns 1 it was held, 0 it was free
 */
export const forceReleaseScript: Script<[lockKey: string, fenceKey: string, queueKey: string, aliveKey: string], [fenceTtlMs: number, wakePrefix: string], 1 | 0> = {
  name: 'lock.force-release',
  sha: '280faa80731b80e02b7c1a1cee6a9bba40319326',
  effect: 'idempotent',
  lua: [
    "local function nextFence(key, micros, ttlMs)",
    "  local fence = string.format('%.0f', micros)",
    "  local last = tonumber(redis.call('SET', key, fence, 'PX', ttlMs, 'GET') or 0) or 0",
    "  if last >= micros then",
    "    fence = string.format('%.0f', last + 1)",
    "    redis.call('SET', key, fence, 'PX', ttlMs)",
    "  end",
    "  return fence",
    "end",
    "local function liveHead(queue, alive, now)",
    "  local head, left",
    "  for _ = 1, 200 do",
    "    head = redis.call('ZRANGE', queue, 0, 0)[1]",
    "    if not head then return nil, 0 end",
    "    left = (redis.call('ZSCORE', alive, head) or 0) - now",
    "    if left > 0 then return head, left end",
    "    redis.call('ZREM', queue, head)",
    "    redis.call('ZREM', alive, head)",
    "  end",
    "  return head, 0",
    "end",
    "local function enqueue(queue, alive, waiter, aliveUntil)",
    "  if not redis.call('ZSCORE', queue, waiter) then",
    "    local last = redis.call('ZRANGE', queue, -1, -1, 'WITHSCORES')[2] or 0",
    "    redis.call('ZADD', queue, last + 1, waiter)",
    "  end",
    "  redis.call('ZADD', alive, aliveUntil, waiter)",
    "  redis.call('PEXPIRE', queue, 60000)",
    "  redis.call('PEXPIRE', alive, 60000)",
    "end",
    "local function dequeue(queue, alive, waiter)",
    "  redis.call('ZREM', queue, waiter)",
    "  redis.call('ZREM', alive, waiter)",
    "end",
    "local function wake(prefix, waiter, fence)",
    "  redis.pcall('PUBLISH', prefix .. string.match(waiter, '^[^|]+'), fence and waiter .. ' ' .. fence or waiter)",
    "end",
    "local SHORTEST_HAND_OVER = 100",
    "local function handOver(lock, fenceKey, queue, alive, fenceTtlMs, atOnce, prefix)",
    "  local time = redis.call('TIME')",
    "  local micros = time[1] * 1000000 + time[2]",
    "  local head, left = liveHead(queue, alive, math.floor(micros / 1000))",
    "  if left <= 0 then return end",
    "  local token, leaseMs = string.match(head, '^(.*)|(%d+)|[^|]*$')",
    "  if not atOnce or not token or left < SHORTEST_HAND_OVER then return wake(prefix, head) end",
    "  dequeue(queue, alive, head)",
    "  redis.call('SET', lock, token, 'PX', math.min(left, leaseMs))",
    "  local ttl = math.max(fenceTtlMs, redis.call('PTTL', fenceKey))",
    "  wake(prefix, head, nextFence(fenceKey, micros, ttl))",
    "end",
    "local lock, fenceKey, queue, alive = KEYS[1], KEYS[2], KEYS[3], KEYS[4]",
    "local held = redis.call('DEL', lock)",
    "if redis.call('EXISTS', queue) == 1 then",
    "  handOver(lock, fenceKey, queue, alive, ARGV[1], true, ARGV[2])",
    "end",
    "return held",
  ].join('\n'),
};

/**
 * Tells who holds a lock, and how many wait for it.
 *
 * - `KEYS[1]` lockKey: the lock
 * - `KEYS[2]` fenceKey: last fence of this lock
 * - `KEYS[3]` queueKey: waiter -> ticket
 * - returns token and time left of the holder (-1: for ever), its fence or '', waiters
 */
export const inspectScript: Script<[lockKey: string, fenceKey: string, queueKey: string], [], [token: string, leftMs: number, fence: string, waiting: number] | null> = {
  name: 'lock.inspect',
  sha: '001383eeb4a8f5fd5db64d9e609763fa9b2d695e',
  effect: 'read',
  lua: [
    "local holder = redis.call('GET', KEYS[1])",
    "if not holder then",
    "  return false",
    "end",
    "return { holder, redis.call('PTTL', KEYS[1]), redis.call('GET', KEYS[2]) or '', redis.call('ZCARD', KEYS[3]) }",
  ].join('\n'),
};

/**
 * Gives a lock back if the caller still holds it, takes it out of the queue, and hands the lock over to who is next. Also works
 * when memory is full.
 *
 * - `KEYS[1]` lockKey: the lock
 * - `KEYS[2]` fenceKey: last fence of this lock
 * - `KEYS[3]` queueKey: waiter -> ticket
 * - `KEYS[4]` aliveKey: waiter -> alive until, server milliseconds
 * - `ARGV[1]` token: token of the acquisition
 * - `ARGV[2]` waiter: the same caller as a waiter, or ''
 * - `ARGV[3]` fenceTtlMs: how long the last fence is remembered at least, milliseconds
 * - `ARGV[4]` fair: whether who is next has it at once, or is only woken
 * - `ARGV[5]` wakePrefix: channel of a process, without its id
 * - returns 1 released, 0 somebody else holds it, -1 nobody does
 */
export const leaveScript: Script<[lockKey: string, fenceKey: string, queueKey: string, aliveKey: string], [token: string, waiter: string, fenceTtlMs: number, fair: 1 | 0, wakePrefix: string], 1 | 0 | -1> = {
  name: 'lock.leave',
  sha: 'fcdb631b4551da132747ada5ebc39e7eb3600f0c',
  effect: 'idempotent',
  lua: [
    "local function nextFence(key, micros, ttlMs)",
    "  local fence = string.format('%.0f', micros)",
    "  local last = tonumber(redis.call('SET', key, fence, 'PX', ttlMs, 'GET') or 0) or 0",
    "  if last >= micros then",
    "    fence = string.format('%.0f', last + 1)",
    "    redis.call('SET', key, fence, 'PX', ttlMs)",
    "  end",
    "  return fence",
    "end",
    "local function liveHead(queue, alive, now)",
    "  local head, left",
    "  for _ = 1, 200 do",
    "    head = redis.call('ZRANGE', queue, 0, 0)[1]",
    "    if not head then return nil, 0 end",
    "    left = (redis.call('ZSCORE', alive, head) or 0) - now",
    "    if left > 0 then return head, left end",
    "    redis.call('ZREM', queue, head)",
    "    redis.call('ZREM', alive, head)",
    "  end",
    "  return head, 0",
    "end",
    "local function enqueue(queue, alive, waiter, aliveUntil)",
    "  if not redis.call('ZSCORE', queue, waiter) then",
    "    local last = redis.call('ZRANGE', queue, -1, -1, 'WITHSCORES')[2] or 0",
    "    redis.call('ZADD', queue, last + 1, waiter)",
    "  end",
    "  redis.call('ZADD', alive, aliveUntil, waiter)",
    "  redis.call('PEXPIRE', queue, 60000)",
    "  redis.call('PEXPIRE', alive, 60000)",
    "end",
    "local function dequeue(queue, alive, waiter)",
    "  redis.call('ZREM', queue, waiter)",
    "  redis.call('ZREM', alive, waiter)",
    "end",
    "local function wake(prefix, waiter, fence)",
    "  redis.pcall('PUBLISH', prefix .. string.match(waiter, '^[^|]+'), fence and waiter .. ' ' .. fence or waiter)",
    "end",
    "local SHORTEST_HAND_OVER = 100",
    "local function handOver(lock, fenceKey, queue, alive, fenceTtlMs, atOnce, prefix)",
    "  local time = redis.call('TIME')",
    "  local micros = time[1] * 1000000 + time[2]",
    "  local head, left = liveHead(queue, alive, math.floor(micros / 1000))",
    "  if left <= 0 then return end",
    "  local token, leaseMs = string.match(head, '^(.*)|(%d+)|[^|]*$')",
    "  if not atOnce or not token or left < SHORTEST_HAND_OVER then return wake(prefix, head) end",
    "  dequeue(queue, alive, head)",
    "  redis.call('SET', lock, token, 'PX', math.min(left, leaseMs))",
    "  local ttl = math.max(fenceTtlMs, redis.call('PTTL', fenceKey))",
    "  wake(prefix, head, nextFence(fenceKey, micros, ttl))",
    "end",
    "local call = redis.call",
    "local lock, fenceKey, queue, alive = KEYS[1], KEYS[2], KEYS[3], KEYS[4]",
    "if ARGV[2] ~= '' then dequeue(queue, alive, ARGV[2]) end",
    "local holder = call('GET', lock)",
    "local mine = holder == ARGV[1]",
    "if holder and not mine then return 0 end",
    "if mine then call('DEL', lock) end",
    "if call('EXISTS', queue) == 1 then",
    "  handOver(lock, fenceKey, queue, alive, ARGV[3], ARGV[4] == '1', ARGV[5])",
    "end",
    "return mine and 1 or -1",
  ].join('\n'),
};

/**
 * Makes a reader of the writer, with a full lease, and wakes the readers that can join it.
 *
 * - `KEYS[1]` holdersKey: 'r<token>' or 'w<token>' -> end of the lease, server milliseconds
 * - `KEYS[2]` readersKey: waiting reader -> ticket
 * - `KEYS[3]` writersKey: waiting writer -> ticket
 * - `KEYS[4]` aliveKey: waiter -> alive until, server milliseconds
 * - `ARGV[1]` token: token of the acquisition
 * - `ARGV[2]` leaseMs: lease from now, milliseconds
 * - `ARGV[3]` wakePrefix: channel of a process, without its id
 * - returns 1 it reads now, 0 somebody else holds the lock, -1 nobody does
 */
export const readWriteDowngradeScript: Script<[holdersKey: string, readersKey: string, writersKey: string, aliveKey: string], [token: string, leaseMs: number, wakePrefix: string], 1 | 0 | -1> = {
  name: 'lock.read-write-downgrade',
  sha: 'ed8d911c8fc0a3c40d3c7580c15be25dbcc2cf7d',
  effect: 'idempotent',
  lua: [
    "local function liveHead(queue, alive, now)",
    "  local head, left",
    "  for _ = 1, 200 do",
    "    head = redis.call('ZRANGE', queue, 0, 0)[1]",
    "    if not head then return nil, 0 end",
    "    left = (redis.call('ZSCORE', alive, head) or 0) - now",
    "    if left > 0 then return head, left end",
    "    redis.call('ZREM', queue, head)",
    "    redis.call('ZREM', alive, head)",
    "  end",
    "  return head, 0",
    "end",
    "local function enqueue(queue, alive, waiter, aliveUntil)",
    "  if not redis.call('ZSCORE', queue, waiter) then",
    "    local last = redis.call('ZRANGE', queue, -1, -1, 'WITHSCORES')[2] or 0",
    "    redis.call('ZADD', queue, last + 1, waiter)",
    "  end",
    "  redis.call('ZADD', alive, aliveUntil, waiter)",
    "  redis.call('PEXPIRE', queue, 60000)",
    "  redis.call('PEXPIRE', alive, 60000)",
    "end",
    "local function dequeue(queue, alive, waiter)",
    "  redis.call('ZREM', queue, waiter)",
    "  redis.call('ZREM', alive, waiter)",
    "end",
    "local function wake(prefix, waiter, fence)",
    "  redis.pcall('PUBLISH', prefix .. string.match(waiter, '^[^|]+'), fence and waiter .. ' ' .. fence or waiter)",
    "end",
    "local function sideOf(holders, now)",
    "  redis.call('ZREMRANGEBYSCORE', holders, '-inf', now)",
    "  local first = redis.call('ZRANGE', holders, 0, 0)[1]",
    "  return first and string.sub(first, 1, 1)",
    "end",
    "local function hold(holders, member, ends)",
    "  redis.call('ZADD', holders, 'GT', ends, member)",
    "  redis.call('PEXPIREAT', holders, redis.call('ZRANGE', holders, -1, -1, 'WITHSCORES')[2])",
    "end",
    "local function firstOf(queue, alive, now)",
    "  local head, left = liveHead(queue, alive, now)",
    "  return head, head and tonumber(redis.call('ZSCORE', queue, head)) or math.huge, left",
    "end",
    "local function lastTicket(queue)",
    "  return tonumber(redis.call('ZRANGE', queue, -1, -1, 'WITHSCORES')[2] or 0)",
    "end",
    "local function enqueueSide(mine, other, alive, waiter, aliveUntil)",
    "  if not redis.call('ZSCORE', mine, waiter) then",
    "    redis.call('ZADD', mine, math.max(lastTicket(mine), lastTicket(other)) + 1, waiter)",
    "  end",
    "  redis.call('ZADD', alive, aliveUntil, waiter)",
    "  for _, key in ipairs({ mine, other, alive }) do redis.call('PEXPIRE', key, 60000) end",
    "end",
    "local function wakeSides(readers, writers, alive, now, side, prefix, most)",
    "  if side == 'w' then return end",
    "  local writer, turn, writerLeft = firstOf(writers, alive, now)",
    "  local reader, ticket, readerLeft = firstOf(readers, alive, now)",
    "  if turn < ticket then",
    "    if not side and writerLeft > 0 then wake(prefix, writer) end",
    "    return",
    "  end",
    "  if not reader or readerLeft == 0 then return end",
    "  local before = turn == math.huge and '+inf' or '(' .. turn",
    "  for _, waiter in ipairs(redis.call('ZRANGEBYSCORE', readers, '-inf', before, 'LIMIT', 0, most)) do",
    "    wake(prefix, waiter)",
    "  end",
    "end",
    "local holders = KEYS[1]",
    "local time = redis.call('TIME')",
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)",
    "local side = sideOf(holders, now)",
    "if not side then return -1 end",
    "if redis.call('ZREM', holders, 'w' .. ARGV[1]) == 0 and not redis.call('ZSCORE', holders, 'r' .. ARGV[1]) then return 0 end",
    "hold(holders, 'r' .. ARGV[1], now + ARGV[2])",
    "wakeSides(KEYS[2], KEYS[3], KEYS[4], now, 'r', ARGV[3], 100)",
    "return 1",
  ].join('\n'),
};

/**
 * Makes a lease of either side last at least one more lease, if it has not ended. Never shortens it and never creates it again.
 *
 * - `KEYS[1]` holdersKey: 'r<token>' or 'w<token>' -> end of the lease, server milliseconds
 * - `ARGV[1]` token: token of the acquisition
 * - `ARGV[2]` leaseMs: lease from now, milliseconds
 * - returns 1 extended, 0 somebody else holds it, -1 nobody does
 */
export const readWriteExtendScript: Script<[holdersKey: string], [token: string, leaseMs: number], 1 | 0 | -1> = {
  name: 'lock.read-write-extend',
  sha: '29b3018769d0d95d9a74a4ec3a844567d9acfb98',
  effect: 'idempotent',
  lua: [
    "local function liveHead(queue, alive, now)",
    "  local head, left",
    "  for _ = 1, 200 do",
    "    head = redis.call('ZRANGE', queue, 0, 0)[1]",
    "    if not head then return nil, 0 end",
    "    left = (redis.call('ZSCORE', alive, head) or 0) - now",
    "    if left > 0 then return head, left end",
    "    redis.call('ZREM', queue, head)",
    "    redis.call('ZREM', alive, head)",
    "  end",
    "  return head, 0",
    "end",
    "local function enqueue(queue, alive, waiter, aliveUntil)",
    "  if not redis.call('ZSCORE', queue, waiter) then",
    "    local last = redis.call('ZRANGE', queue, -1, -1, 'WITHSCORES')[2] or 0",
    "    redis.call('ZADD', queue, last + 1, waiter)",
    "  end",
    "  redis.call('ZADD', alive, aliveUntil, waiter)",
    "  redis.call('PEXPIRE', queue, 60000)",
    "  redis.call('PEXPIRE', alive, 60000)",
    "end",
    "local function dequeue(queue, alive, waiter)",
    "  redis.call('ZREM', queue, waiter)",
    "  redis.call('ZREM', alive, waiter)",
    "end",
    "local function wake(prefix, waiter, fence)",
    "  redis.pcall('PUBLISH', prefix .. string.match(waiter, '^[^|]+'), fence and waiter .. ' ' .. fence or waiter)",
    "end",
    "local function sideOf(holders, now)",
    "  redis.call('ZREMRANGEBYSCORE', holders, '-inf', now)",
    "  local first = redis.call('ZRANGE', holders, 0, 0)[1]",
    "  return first and string.sub(first, 1, 1)",
    "end",
    "local function hold(holders, member, ends)",
    "  redis.call('ZADD', holders, 'GT', ends, member)",
    "  redis.call('PEXPIREAT', holders, redis.call('ZRANGE', holders, -1, -1, 'WITHSCORES')[2])",
    "end",
    "local function firstOf(queue, alive, now)",
    "  local head, left = liveHead(queue, alive, now)",
    "  return head, head and tonumber(redis.call('ZSCORE', queue, head)) or math.huge, left",
    "end",
    "local function lastTicket(queue)",
    "  return tonumber(redis.call('ZRANGE', queue, -1, -1, 'WITHSCORES')[2] or 0)",
    "end",
    "local function enqueueSide(mine, other, alive, waiter, aliveUntil)",
    "  if not redis.call('ZSCORE', mine, waiter) then",
    "    redis.call('ZADD', mine, math.max(lastTicket(mine), lastTicket(other)) + 1, waiter)",
    "  end",
    "  redis.call('ZADD', alive, aliveUntil, waiter)",
    "  for _, key in ipairs({ mine, other, alive }) do redis.call('PEXPIRE', key, 60000) end",
    "end",
    "local function wakeSides(readers, writers, alive, now, side, prefix, most)",
    "  if side == 'w' then return end",
    "  local writer, turn, writerLeft = firstOf(writers, alive, now)",
    "  local reader, ticket, readerLeft = firstOf(readers, alive, now)",
    "  if turn < ticket then",
    "    if not side and writerLeft > 0 then wake(prefix, writer) end",
    "    return",
    "  end",
    "  if not reader or readerLeft == 0 then return end",
    "  local before = turn == math.huge and '+inf' or '(' .. turn",
    "  for _, waiter in ipairs(redis.call('ZRANGEBYSCORE', readers, '-inf', before, 'LIMIT', 0, most)) do",
    "    wake(prefix, waiter)",
    "  end",
    "end",
    "local time = redis.call('TIME')",
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)",
    "local side = sideOf(KEYS[1], now)",
    "if not side then return -1 end",
    "local mine = side .. ARGV[1]",
    "if not redis.call('ZSCORE', KEYS[1], mine) then return 0 end",
    "hold(KEYS[1], mine, now + ARGV[2])",
    "return 1",
  ].join('\n'),
};

/**
 * Tells who holds a read/write lock, and how many wait for it. Writes nothing: leases that have ended stay, uncounted.
 *
 * - `KEYS[1]` holdersKey: 'r<token>' or 'w<token>' -> end of the lease, server milliseconds
 * - `KEYS[2]` readersKey: waiting reader -> ticket
 * - `KEYS[3]` writersKey: waiting writer -> ticket
 * - `KEYS[4]` fenceKey: last fence of this lock
 * - returns how many, until the last lease ends, fence of the last writer or '', waiters, at most 100 of the holders
 */
export const readWriteInspectScript: Script<[holdersKey: string, readersKey: string, writersKey: string, fenceKey: string], [], [holders: number, leftMs: number, fence: string, readers: number, writers: number, members: string[]] | null> = {
  name: 'lock.read-write-inspect',
  sha: 'a9ea31e6166548017feae14c9c8394dce5bc0530',
  effect: 'read',
  lua: [
    "local call = redis.call",
    "local time = call('TIME')",
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)",
    "local after = '(' .. string.format('%.0f', now)",
    "local members = call('ZRANGEBYSCORE', KEYS[1], after, '+inf', 'LIMIT', 0, 100)",
    "if #members == 0 then return false end",
    "local left = call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')[2] - now",
    "local count = call('ZCOUNT', KEYS[1], after, '+inf')",
    "return { count, left, call('GET', KEYS[4]) or '', call('ZCARD', KEYS[2]), call('ZCARD', KEYS[3]), members }",
  ].join('\n'),
};

/**
 * Gives either side back, takes the caller out of the queue, and wakes who is next. Also works when memory is full.
 *
 * - `KEYS[1]` holdersKey: 'r<token>' or 'w<token>' -> end of the lease, server milliseconds
 * - `KEYS[2]` readersKey: waiting reader -> ticket
 * - `KEYS[3]` writersKey: waiting writer -> ticket
 * - `KEYS[4]` aliveKey: waiter -> alive until, server milliseconds
 * - `ARGV[1]` token: token of the acquisition
 * - `ARGV[2]` waiter: the same caller as a waiter, or ''
 * - `ARGV[3]` wakePrefix: channel of a process, without its id
 * - returns 1 given back, 0 somebody else holds it, -1 nobody does
 */
export const readWriteLeaveScript: Script<[holdersKey: string, readersKey: string, writersKey: string, aliveKey: string], [token: string, waiter: string, wakePrefix: string], 1 | 0 | -1> = {
  name: 'lock.read-write-leave',
  sha: '9ee5f2edf5ba7bbf59fb7f49c74e2da475f55c2a',
  effect: 'idempotent',
  lua: [
    "local function liveHead(queue, alive, now)",
    "  local head, left",
    "  for _ = 1, 200 do",
    "    head = redis.call('ZRANGE', queue, 0, 0)[1]",
    "    if not head then return nil, 0 end",
    "    left = (redis.call('ZSCORE', alive, head) or 0) - now",
    "    if left > 0 then return head, left end",
    "    redis.call('ZREM', queue, head)",
    "    redis.call('ZREM', alive, head)",
    "  end",
    "  return head, 0",
    "end",
    "local function enqueue(queue, alive, waiter, aliveUntil)",
    "  if not redis.call('ZSCORE', queue, waiter) then",
    "    local last = redis.call('ZRANGE', queue, -1, -1, 'WITHSCORES')[2] or 0",
    "    redis.call('ZADD', queue, last + 1, waiter)",
    "  end",
    "  redis.call('ZADD', alive, aliveUntil, waiter)",
    "  redis.call('PEXPIRE', queue, 60000)",
    "  redis.call('PEXPIRE', alive, 60000)",
    "end",
    "local function dequeue(queue, alive, waiter)",
    "  redis.call('ZREM', queue, waiter)",
    "  redis.call('ZREM', alive, waiter)",
    "end",
    "local function wake(prefix, waiter, fence)",
    "  redis.pcall('PUBLISH', prefix .. string.match(waiter, '^[^|]+'), fence and waiter .. ' ' .. fence or waiter)",
    "end",
    "local function sideOf(holders, now)",
    "  redis.call('ZREMRANGEBYSCORE', holders, '-inf', now)",
    "  local first = redis.call('ZRANGE', holders, 0, 0)[1]",
    "  return first and string.sub(first, 1, 1)",
    "end",
    "local function hold(holders, member, ends)",
    "  redis.call('ZADD', holders, 'GT', ends, member)",
    "  redis.call('PEXPIREAT', holders, redis.call('ZRANGE', holders, -1, -1, 'WITHSCORES')[2])",
    "end",
    "local function firstOf(queue, alive, now)",
    "  local head, left = liveHead(queue, alive, now)",
    "  return head, head and tonumber(redis.call('ZSCORE', queue, head)) or math.huge, left",
    "end",
    "local function lastTicket(queue)",
    "  return tonumber(redis.call('ZRANGE', queue, -1, -1, 'WITHSCORES')[2] or 0)",
    "end",
    "local function enqueueSide(mine, other, alive, waiter, aliveUntil)",
    "  if not redis.call('ZSCORE', mine, waiter) then",
    "    redis.call('ZADD', mine, math.max(lastTicket(mine), lastTicket(other)) + 1, waiter)",
    "  end",
    "  redis.call('ZADD', alive, aliveUntil, waiter)",
    "  for _, key in ipairs({ mine, other, alive }) do redis.call('PEXPIRE', key, 60000) end",
    "end",
    "local function wakeSides(readers, writers, alive, now, side, prefix, most)",
    "  if side == 'w' then return end",
    "  local writer, turn, writerLeft = firstOf(writers, alive, now)",
    "  local reader, ticket, readerLeft = firstOf(readers, alive, now)",
    "  if turn < ticket then",
    "    if not side and writerLeft > 0 then wake(prefix, writer) end",
    "    return",
    "  end",
    "  if not reader or readerLeft == 0 then return end",
    "  local before = turn == math.huge and '+inf' or '(' .. turn",
    "  for _, waiter in ipairs(redis.call('ZRANGEBYSCORE', readers, '-inf', before, 'LIMIT', 0, most)) do",
    "    wake(prefix, waiter)",
    "  end",
    "end",
    "local call = redis.call",
    "local holders, readers, writers, alive = KEYS[1], KEYS[2], KEYS[3], KEYS[4]",
    "local time = call('TIME')",
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)",
    "if ARGV[2] ~= '' then",
    "  dequeue(readers, alive, ARGV[2])",
    "  call('ZREM', writers, ARGV[2])",
    "end",
    "local before = sideOf(holders, now)",
    "local held = call('ZREM', holders, 'r' .. ARGV[1], 'w' .. ARGV[1])",
    "local side = sideOf(holders, now)",
    "wakeSides(readers, writers, alive, now, side, ARGV[3], 100)",
    "if held > 0 then return 1 end",
    "return before and 0 or -1",
  ].join('\n'),
};

/**
 * Takes the read side unless a writer holds the lock or has waited longer; else joins the queue of readers.
 *
 * - `KEYS[1]` holdersKey: 'r<token>' or 'w<token>' -> end of the lease, server milliseconds
 * - `KEYS[2]` readersKey: waiting reader -> ticket
 * - `KEYS[3]` writersKey: waiting writer -> ticket
 * - `KEYS[4]` aliveKey: waiter -> alive until, server milliseconds
 * - `ARGV[1]` token: token of this acquisition
 * - `ARGV[2]` leaseMs: lease, milliseconds
 * - `ARGV[3]` waiter: who waits, or '' to be refused at once
 * - `ARGV[4]` livenessMs: how long the waiter counts as alive, milliseconds
 * - `ARGV[5]` wakePrefix: channel of a process, without its id
 * - returns no fence; or how long the writer's lease lasts (-2: free, for writers), writers that come first (-1: not in the queue), how long the first of them is known to live
 */
export const readWriteReadScript: Script<[holdersKey: string, readersKey: string, writersKey: string, aliveKey: string], [token: string, leaseMs: number, waiter: string, livenessMs: number, wakePrefix: string], [granted: 1, fence: string] | [granted: 0, leftMs: number, rank: number, headMs: number]> = {
  name: 'lock.read-write-read',
  sha: '2b3478387ce9b54c8d54924d46849e9368c9f863',
  effect: 'token',
  lua: [
    "local function liveHead(queue, alive, now)",
    "  local head, left",
    "  for _ = 1, 200 do",
    "    head = redis.call('ZRANGE', queue, 0, 0)[1]",
    "    if not head then return nil, 0 end",
    "    left = (redis.call('ZSCORE', alive, head) or 0) - now",
    "    if left > 0 then return head, left end",
    "    redis.call('ZREM', queue, head)",
    "    redis.call('ZREM', alive, head)",
    "  end",
    "  return head, 0",
    "end",
    "local function enqueue(queue, alive, waiter, aliveUntil)",
    "  if not redis.call('ZSCORE', queue, waiter) then",
    "    local last = redis.call('ZRANGE', queue, -1, -1, 'WITHSCORES')[2] or 0",
    "    redis.call('ZADD', queue, last + 1, waiter)",
    "  end",
    "  redis.call('ZADD', alive, aliveUntil, waiter)",
    "  redis.call('PEXPIRE', queue, 60000)",
    "  redis.call('PEXPIRE', alive, 60000)",
    "end",
    "local function dequeue(queue, alive, waiter)",
    "  redis.call('ZREM', queue, waiter)",
    "  redis.call('ZREM', alive, waiter)",
    "end",
    "local function wake(prefix, waiter, fence)",
    "  redis.pcall('PUBLISH', prefix .. string.match(waiter, '^[^|]+'), fence and waiter .. ' ' .. fence or waiter)",
    "end",
    "local function sideOf(holders, now)",
    "  redis.call('ZREMRANGEBYSCORE', holders, '-inf', now)",
    "  local first = redis.call('ZRANGE', holders, 0, 0)[1]",
    "  return first and string.sub(first, 1, 1)",
    "end",
    "local function hold(holders, member, ends)",
    "  redis.call('ZADD', holders, 'GT', ends, member)",
    "  redis.call('PEXPIREAT', holders, redis.call('ZRANGE', holders, -1, -1, 'WITHSCORES')[2])",
    "end",
    "local function firstOf(queue, alive, now)",
    "  local head, left = liveHead(queue, alive, now)",
    "  return head, head and tonumber(redis.call('ZSCORE', queue, head)) or math.huge, left",
    "end",
    "local function lastTicket(queue)",
    "  return tonumber(redis.call('ZRANGE', queue, -1, -1, 'WITHSCORES')[2] or 0)",
    "end",
    "local function enqueueSide(mine, other, alive, waiter, aliveUntil)",
    "  if not redis.call('ZSCORE', mine, waiter) then",
    "    redis.call('ZADD', mine, math.max(lastTicket(mine), lastTicket(other)) + 1, waiter)",
    "  end",
    "  redis.call('ZADD', alive, aliveUntil, waiter)",
    "  for _, key in ipairs({ mine, other, alive }) do redis.call('PEXPIRE', key, 60000) end",
    "end",
    "local function wakeSides(readers, writers, alive, now, side, prefix, most)",
    "  if side == 'w' then return end",
    "  local writer, turn, writerLeft = firstOf(writers, alive, now)",
    "  local reader, ticket, readerLeft = firstOf(readers, alive, now)",
    "  if turn < ticket then",
    "    if not side and writerLeft > 0 then wake(prefix, writer) end",
    "    return",
    "  end",
    "  if not reader or readerLeft == 0 then return end",
    "  local before = turn == math.huge and '+inf' or '(' .. turn",
    "  for _, waiter in ipairs(redis.call('ZRANGEBYSCORE', readers, '-inf', before, 'LIMIT', 0, most)) do",
    "    wake(prefix, waiter)",
    "  end",
    "end",
    "local call = redis.call",
    "local holders, readers, writers, alive = KEYS[1], KEYS[2], KEYS[3], KEYS[4]",
    "local me = ARGV[3]",
    "local time = call('TIME')",
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)",
    "local side = sideOf(holders, now)",
    "local writer, turn, left = firstOf(writers, alive, now)",
    "if writer and left == 0 then return { 0, 0, 0, 0 } end",
    "local ticket = me ~= '' and tonumber(call('ZSCORE', readers, me) or nil) or math.huge",
    "local again = call('ZSCORE', holders, 'r' .. ARGV[1])",
    "if again or (side ~= 'w' and (not writer or ticket < turn)) then",
    "  hold(holders, 'r' .. ARGV[1], now + ARGV[2])",
    "  if me ~= '' then",
    "    dequeue(readers, alive, me)",
    "    if ticket < math.huge then wakeSides(readers, writers, alive, now, 'r', ARGV[5], 2) end",
    "  end",
    "  return { 1, '' }",
    "end",
    "local ends = -2",
    "if side == 'w' then ends = call('ZRANGE', holders, -1, -1, 'WITHSCORES')[2] - now end",
    "if me == '' then return { 0, ends, -1, left } end",
    "enqueueSide(readers, writers, alive, me, now + ARGV[4])",
    "if side ~= 'w' then wakeSides(readers, writers, alive, now, side, ARGV[5], 2) end",
    "return { 0, ends, call('ZCOUNT', writers, '-inf', '(' .. call('ZSCORE', readers, me)), left }",
  ].join('\n'),
};

/**
 * Takes the write side when nobody holds the lock and nobody has waited longer; else joins the queue of writers.
 *
 * - `KEYS[1]` holdersKey: 'r<token>' or 'w<token>' -> end of the lease, server milliseconds
 * - `KEYS[2]` readersKey: waiting reader -> ticket
 * - `KEYS[3]` writersKey: waiting writer -> ticket
 * - `KEYS[4]` aliveKey: waiter -> alive until, server milliseconds
 * - `KEYS[5]` fenceKey: last fence of this lock
 * - `ARGV[1]` token: token of this acquisition
 * - `ARGV[2]` leaseMs: lease, milliseconds
 * - `ARGV[3]` fenceTtlMs: how long the last fence is remembered, milliseconds
 * - `ARGV[4]` waiter: who waits, or '' to be refused at once
 * - `ARGV[5]` livenessMs: how long the waiter counts as alive, milliseconds
 * - `ARGV[6]` wakePrefix: channel of a process, without its id
 * - returns the fence; or until all leases have ended (-2: free, for others), waiters that come first (-1: not in the queue), how long the first of them is known to live
 */
export const readWriteWriteScript: Script<[holdersKey: string, readersKey: string, writersKey: string, aliveKey: string, fenceKey: string], [token: string, leaseMs: number, fenceTtlMs: number, waiter: string, livenessMs: number, wakePrefix: string], [granted: 1, fence: string] | [granted: 0, leftMs: number, rank: number, headMs: number]> = {
  name: 'lock.read-write-write',
  sha: 'dc7ac77941bd14587408b7fb3e188004ce93d0bd',
  effect: 'token',
  lua: [
    "local function nextFence(key, micros, ttlMs)",
    "  local fence = string.format('%.0f', micros)",
    "  local last = tonumber(redis.call('SET', key, fence, 'PX', ttlMs, 'GET') or 0) or 0",
    "  if last >= micros then",
    "    fence = string.format('%.0f', last + 1)",
    "    redis.call('SET', key, fence, 'PX', ttlMs)",
    "  end",
    "  return fence",
    "end",
    "local function liveHead(queue, alive, now)",
    "  local head, left",
    "  for _ = 1, 200 do",
    "    head = redis.call('ZRANGE', queue, 0, 0)[1]",
    "    if not head then return nil, 0 end",
    "    left = (redis.call('ZSCORE', alive, head) or 0) - now",
    "    if left > 0 then return head, left end",
    "    redis.call('ZREM', queue, head)",
    "    redis.call('ZREM', alive, head)",
    "  end",
    "  return head, 0",
    "end",
    "local function enqueue(queue, alive, waiter, aliveUntil)",
    "  if not redis.call('ZSCORE', queue, waiter) then",
    "    local last = redis.call('ZRANGE', queue, -1, -1, 'WITHSCORES')[2] or 0",
    "    redis.call('ZADD', queue, last + 1, waiter)",
    "  end",
    "  redis.call('ZADD', alive, aliveUntil, waiter)",
    "  redis.call('PEXPIRE', queue, 60000)",
    "  redis.call('PEXPIRE', alive, 60000)",
    "end",
    "local function dequeue(queue, alive, waiter)",
    "  redis.call('ZREM', queue, waiter)",
    "  redis.call('ZREM', alive, waiter)",
    "end",
    "local function wake(prefix, waiter, fence)",
    "  redis.pcall('PUBLISH', prefix .. string.match(waiter, '^[^|]+'), fence and waiter .. ' ' .. fence or waiter)",
    "end",
    "local function sideOf(holders, now)",
    "  redis.call('ZREMRANGEBYSCORE', holders, '-inf', now)",
    "  local first = redis.call('ZRANGE', holders, 0, 0)[1]",
    "  return first and string.sub(first, 1, 1)",
    "end",
    "local function hold(holders, member, ends)",
    "  redis.call('ZADD', holders, 'GT', ends, member)",
    "  redis.call('PEXPIREAT', holders, redis.call('ZRANGE', holders, -1, -1, 'WITHSCORES')[2])",
    "end",
    "local function firstOf(queue, alive, now)",
    "  local head, left = liveHead(queue, alive, now)",
    "  return head, head and tonumber(redis.call('ZSCORE', queue, head)) or math.huge, left",
    "end",
    "local function lastTicket(queue)",
    "  return tonumber(redis.call('ZRANGE', queue, -1, -1, 'WITHSCORES')[2] or 0)",
    "end",
    "local function enqueueSide(mine, other, alive, waiter, aliveUntil)",
    "  if not redis.call('ZSCORE', mine, waiter) then",
    "    redis.call('ZADD', mine, math.max(lastTicket(mine), lastTicket(other)) + 1, waiter)",
    "  end",
    "  redis.call('ZADD', alive, aliveUntil, waiter)",
    "  for _, key in ipairs({ mine, other, alive }) do redis.call('PEXPIRE', key, 60000) end",
    "end",
    "local function wakeSides(readers, writers, alive, now, side, prefix, most)",
    "  if side == 'w' then return end",
    "  local writer, turn, writerLeft = firstOf(writers, alive, now)",
    "  local reader, ticket, readerLeft = firstOf(readers, alive, now)",
    "  if turn < ticket then",
    "    if not side and writerLeft > 0 then wake(prefix, writer) end",
    "    return",
    "  end",
    "  if not reader or readerLeft == 0 then return end",
    "  local before = turn == math.huge and '+inf' or '(' .. turn",
    "  for _, waiter in ipairs(redis.call('ZRANGEBYSCORE', readers, '-inf', before, 'LIMIT', 0, most)) do",
    "    wake(prefix, waiter)",
    "  end",
    "end",
    "local call = redis.call",
    "local holders, readers, writers, alive, fenceKey = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]",
    "local mine, me = 'w' .. ARGV[1], ARGV[4]",
    "local time = call('TIME')",
    "local micros = time[1] * 1000000 + time[2]",
    "local now = math.floor(micros / 1000)",
    "local side = sideOf(holders, now)",
    "if side == 'w' and call('ZSCORE', holders, mine) then",
    "  hold(holders, mine, now + ARGV[2])",
    "  return { 1, call('GET', fenceKey) or nextFence(fenceKey, micros, ARGV[3]) }",
    "end",
    "local writer, turn, writerLeft = firstOf(writers, alive, now)",
    "local reader, ticket, readerLeft = firstOf(readers, alive, now)",
    "if (writer and writerLeft == 0) or (reader and readerLeft == 0) then return { 0, 0, 0, 0 } end",
    "local head, left = writer, writerLeft",
    "if ticket < turn then head, left = reader, readerLeft end",
    "if not side and (not head or head == me) then",
    "  hold(holders, mine, now + ARGV[2])",
    "  if me ~= '' then dequeue(writers, alive, me) end",
    "  return { 1, nextFence(fenceKey, micros, ARGV[3]) }",
    "end",
    "local ends = side and call('ZRANGE', holders, -1, -1, 'WITHSCORES')[2] - now or -2",
    "if me == '' then return { 0, ends, -1, left } end",
    "enqueueSide(writers, readers, alive, me, now + ARGV[5])",
    "if side ~= 'w' then wakeSides(readers, writers, alive, now, side, ARGV[6], 2) end",
    "local before = '(' .. call('ZSCORE', writers, me)",
    "return { 0, ends, call('ZCOUNT', writers, '-inf', before) + call('ZCOUNT', readers, '-inf', before), left }",
  ].join('\n'),
};

/**
 * Takes a lock on one of several nodes if it is free there. Finds its own earlier grant again. Nobody queues.
 *
 * - `KEYS[1]` lockKey: the lock: token of its holder
 * - `KEYS[2]` fenceKey: last fence of this lock
 * - `ARGV[1]` token: token of this attempt, the same on all nodes
 * - `ARGV[2]` leaseMs: lease, milliseconds
 * - `ARGV[3]` fenceTtlMs: how long the last fence is remembered, milliseconds
 * - `ARGV[4]` guardMs: how long a node must have run before it votes, milliseconds
 * - returns the fence of this node; or how long the lease lasts (-1: for ever, -3: the node does not vote yet), no rank, no head
 */
export const redlockAcquireScript: Script<[lockKey: string, fenceKey: string], [token: string, leaseMs: number, fenceTtlMs: number, guardMs: number], [granted: 1, fence: string] | [granted: 0, leftMs: number, rank: number, headMs: number]> = {
  name: 'lock.redlock-acquire',
  sha: '63d6cb913b13ca74c5fa8ee444fe46a3505d2d71',
  effect: 'token',
  lua: [
    "local function nextFence(key, micros, ttlMs)",
    "  local fence = string.format('%.0f', micros)",
    "  local last = tonumber(redis.call('SET', key, fence, 'PX', ttlMs, 'GET') or 0) or 0",
    "  if last >= micros then",
    "    fence = string.format('%.0f', last + 1)",
    "    redis.call('SET', key, fence, 'PX', ttlMs)",
    "  end",
    "  return fence",
    "end",
    "local call = redis.call",
    "local guard = tonumber(ARGV[4])",
    "if guard > 0 then",
    "  local age = string.match(call('INFO', 'server'), 'uptime_in_seconds:(%d+)') * 1000",
    "  if age < guard then return { 0, -3, -1, 0 } end",
    "end",
    "local holder = call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2], 'GET')",
    "if holder and holder ~= ARGV[1] then return { 0, call('PTTL', KEYS[1]), -1, 0 } end",
    "local time = call('TIME')",
    "local micros = time[1] * 1000000 + time[2]",
    "if holder then",
    "  call('PEXPIRE', KEYS[1], ARGV[2])",
    "  return { 1, call('GET', KEYS[2]) or nextFence(KEYS[2], micros, ARGV[3]) }",
    "end",
    "return { 1, nextFence(KEYS[2], micros, ARGV[3]) }",
  ].join('\n'),
};

/**
 * Lets a node remember a fence that was granted by a quorum, unless it knows a higher one.
 *
 * - `KEYS[1]` fenceKey: last fence of this lock
 * - `ARGV[1]` fence: the highest of the quorum
 * - `ARGV[2]` fenceTtlMs: how long it is remembered, milliseconds
 * - returns 1 when it was the higher one
 */
export const redlockFenceScript: Script<[fenceKey: string], [fence: string, fenceTtlMs: number], 1 | 0> = {
  name: 'lock.redlock-fence',
  sha: 'e334038115bf8213d0ef249dda0da13c7a320a74',
  effect: 'idempotent',
  lua: [
    "local known = tonumber(redis.call('GET', KEYS[1]) or 0)",
    "if known >= tonumber(ARGV[1]) then return 0 end",
    "redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])",
    "return 1",
  ].join('\n'),
};

/**
 * Tells the time of the server that decides about the runs of a name.
 *
 * - `KEYS[1]` runKey: one of its keys: says which server is asked
 * - returns milliseconds
 */
export const runOnceTimeScript: Script<[runKey: string], [], number> = {
  name: 'lock.run-once-time',
  sha: '04a76a34a21ca62580d03b49ccff3efa81b083de',
  effect: 'read',
  lua: [
    "assert(KEYS[1])",
    "local time = redis.call('TIME')",
    "return time[1] * 1000 + math.floor(time[2] / 1000)",
  ].join('\n'),
};

/**
 * Takes permits if enough are free and nobody has waited longer; else joins the queue. Finds its own earlier grant again.
 *
 * - `KEYS[1]` leasesKey: '<permits>|<token>' -> end of the lease, server milliseconds; '' -> permits in use
 * - `KEYS[2]` queueKey: waiter -> ticket
 * - `KEYS[3]` aliveKey: waiter -> alive until, server milliseconds
 * - `ARGV[1]` token: token of this acquisition
 * - `ARGV[2]` leaseMs: lease, milliseconds
 * - `ARGV[3]` permits: how many it takes
 * - `ARGV[4]` limit: how many there are
 * - `ARGV[5]` waiter: who waits, or '' to be refused at once
 * - `ARGV[6]` livenessMs: how long the waiter counts as alive, milliseconds
 * - `ARGV[7]` wakePrefix: channel of a process, without its id
 * - returns no fence; or until the next lease ends (-2: enough is free, for others), place in the queue (-1: none), how long its head is known to live
 */
export const semaphoreAcquireScript: Script<[leasesKey: string, queueKey: string, aliveKey: string], [token: string, leaseMs: number, permits: number, limit: number, waiter: string, livenessMs: number, wakePrefix: string], [granted: 1, fence: string] | [granted: 0, leftMs: number, rank: number, headMs: number]> = {
  name: 'lock.semaphore-acquire',
  sha: '841093a49ab36af70290fbd81dc0cd2f2b07c2bf',
  effect: 'token',
  lua: [
    "local function liveHead(queue, alive, now)",
    "  local head, left",
    "  for _ = 1, 200 do",
    "    head = redis.call('ZRANGE', queue, 0, 0)[1]",
    "    if not head then return nil, 0 end",
    "    left = (redis.call('ZSCORE', alive, head) or 0) - now",
    "    if left > 0 then return head, left end",
    "    redis.call('ZREM', queue, head)",
    "    redis.call('ZREM', alive, head)",
    "  end",
    "  return head, 0",
    "end",
    "local function enqueue(queue, alive, waiter, aliveUntil)",
    "  if not redis.call('ZSCORE', queue, waiter) then",
    "    local last = redis.call('ZRANGE', queue, -1, -1, 'WITHSCORES')[2] or 0",
    "    redis.call('ZADD', queue, last + 1, waiter)",
    "  end",
    "  redis.call('ZADD', alive, aliveUntil, waiter)",
    "  redis.call('PEXPIRE', queue, 60000)",
    "  redis.call('PEXPIRE', alive, 60000)",
    "end",
    "local function dequeue(queue, alive, waiter)",
    "  redis.call('ZREM', queue, waiter)",
    "  redis.call('ZREM', alive, waiter)",
    "end",
    "local function wake(prefix, waiter, fence)",
    "  redis.pcall('PUBLISH', prefix .. string.match(waiter, '^[^|]+'), fence and waiter .. ' ' .. fence or waiter)",
    "end",
    "local FIRST_TIME = '(1000000'",
    "local function permitsOf(member)",
    "  return tonumber(string.match(member, '^%d+'))",
    "end",
    "local function permitsInUse(leases, now)",
    "  local freed = 0",
    "  for _, member in ipairs(redis.call('ZRANGEBYSCORE', leases, FIRST_TIME, now)) do",
    "    freed = freed + permitsOf(member)",
    "    redis.call('ZREM', leases, member)",
    "  end",
    "  if freed > 0 then redis.call('ZINCRBY', leases, -freed, '') end",
    "  return tonumber(redis.call('ZSCORE', leases, '') or 0)",
    "end",
    "local function expireWithLast(leases)",
    "  redis.call('PEXPIREAT', leases, redis.call('ZRANGE', leases, -1, -1, 'WITHSCORES')[2])",
    "end",
    "local function wakeFirst(queue, alive, now, free, prefix)",
    "  if free < 1 or redis.call('EXISTS', queue) == 0 then return end",
    "  local head, left = liveHead(queue, alive, now)",
    "  if left > 0 and tonumber(string.match(head, '%d+$')) <= free then wake(prefix, head) end",
    "end",
    "local call = redis.call",
    "local leases, queue, alive = KEYS[1], KEYS[2], KEYS[3]",
    "local permits, limit, me, prefix = tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5], ARGV[7]",
    "local mine = ARGV[3] .. '|' .. ARGV[1]",
    "local time = call('TIME')",
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)",
    "local used = permitsInUse(leases, now)",
    "local again = call('ZSCORE', leases, mine)",
    "local head, left = nil, 0",
    "if not again and call('EXISTS', queue) == 1 then",
    "  head, left = liveHead(queue, alive, now)",
    "  if head and left == 0 then return { 0, 0, 0, 0 } end",
    "end",
    "local room = used + permits <= limit",
    "if again or (room and (not head or head == me)) then",
    "  if not again then",
    "    used = used + permits",
    "    call('ZINCRBY', leases, permits, '')",
    "  end",
    "  call('ZADD', leases, now + ARGV[2], mine)",
    "  expireWithLast(leases)",
    "  if me ~= '' then dequeue(queue, alive, me) end",
    "  wakeFirst(queue, alive, now, limit - used, prefix)",
    "  return { 1, '' }",
    "end",
    "local ends = -2",
    "if not room then",
    "  local first = call('ZRANGE', leases, 1, 1, 'WITHSCORES')[2]",
    "  ends = first and math.max(1, first - now) or 1",
    "end",
    "if me == '' then return { 0, ends, -1, left } end",
    "enqueue(queue, alive, me, now + ARGV[6])",
    "if room then wakeFirst(queue, alive, now, limit - used, prefix) end",
    "return { 0, ends, call('ZRANK', queue, me), left }",
  ].join('\n'),
};

/**
 * Makes a lease of permits last at least one more lease, if it has not ended. Never shortens it and never creates it again.
 *
 * - `KEYS[1]` leasesKey: '<permits>|<token>' -> end of the lease, server milliseconds
 * - `ARGV[1]` token: token of the acquisition
 * - `ARGV[2]` leaseMs: lease from now, milliseconds
 * - `ARGV[3]` permits: how many it holds
 * - returns 1 extended, -1 it has ended
 */
export const semaphoreExtendScript: Script<[leasesKey: string], [token: string, leaseMs: number, permits: number], 1 | -1> = {
  name: 'lock.semaphore-extend',
  sha: '88ee748e4f840e25c4421c0a176b935123aa37a3',
  effect: 'idempotent',
  lua: [
    "local FIRST_TIME = '(1000000'",
    "local function permitsOf(member)",
    "  return tonumber(string.match(member, '^%d+'))",
    "end",
    "local function permitsInUse(leases, now)",
    "  local freed = 0",
    "  for _, member in ipairs(redis.call('ZRANGEBYSCORE', leases, FIRST_TIME, now)) do",
    "    freed = freed + permitsOf(member)",
    "    redis.call('ZREM', leases, member)",
    "  end",
    "  if freed > 0 then redis.call('ZINCRBY', leases, -freed, '') end",
    "  return tonumber(redis.call('ZSCORE', leases, '') or 0)",
    "end",
    "local function expireWithLast(leases)",
    "  redis.call('PEXPIREAT', leases, redis.call('ZRANGE', leases, -1, -1, 'WITHSCORES')[2])",
    "end",
    "local function wakeFirst(queue, alive, now, free, prefix)",
    "  if free < 1 or redis.call('EXISTS', queue) == 0 then return end",
    "  local head, left = liveHead(queue, alive, now)",
    "  if left > 0 and tonumber(string.match(head, '%d+$')) <= free then wake(prefix, head) end",
    "end",
    "local mine = ARGV[3] .. '|' .. ARGV[1]",
    "local time = redis.call('TIME')",
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)",
    "local ends = redis.call('ZSCORE', KEYS[1], mine)",
    "if not ends or tonumber(ends) <= now then return -1 end",
    "redis.call('ZADD', KEYS[1], 'XX', 'GT', now + ARGV[2], mine)",
    "expireWithLast(KEYS[1])",
    "return 1",
  ].join('\n'),
};

/**
 * Tells how many permits are in use, by how many leases, and how many wait.
 *
 * - `KEYS[1]` leasesKey: '<permits>|<token>' -> end of the lease, server milliseconds
 * - `KEYS[2]` queueKey: waiter -> ticket
 * - returns permits in use, leases, waiters
 */
export const semaphoreInspectScript: Script<[leasesKey: string, queueKey: string], [], [used: number, holders: number, waiting: number]> = {
  name: 'lock.semaphore-inspect',
  sha: '8e9e4a8f09dc24ed06421b54e65e514c1e2f933f',
  effect: 'read',
  lua: [
    "local time = redis.call('TIME')",
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)",
    "local used, holders = 0, 0",
    "for _, member in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. now, '+inf')) do",
    "  used = used + tonumber(string.match(member, '^%d+'))",
    "  holders = holders + 1",
    "end",
    "return { used, holders, redis.call('ZCARD', KEYS[2]) }",
  ].join('\n'),
};

/**
 * Gives permits back, takes the caller out of the queue, and wakes who is next. Also works when memory is full.
 *
 * - `KEYS[1]` leasesKey: '<permits>|<token>' -> end of the lease, server milliseconds; '' -> permits in use
 * - `KEYS[2]` queueKey: waiter -> ticket
 * - `KEYS[3]` aliveKey: waiter -> alive until, server milliseconds
 * - `ARGV[1]` token: token of the acquisition
 * - `ARGV[2]` permits: how many it took
 * - `ARGV[3]` limit: how many there are
 * - `ARGV[4]` waiter: the same caller as a waiter, or ''
 * - `ARGV[5]` wakePrefix: channel of a process, without its id
 * - returns 1 given back, -1 the lease had ended
 */
export const semaphoreLeaveScript: Script<[leasesKey: string, queueKey: string, aliveKey: string], [token: string, permits: number, limit: number, waiter: string, wakePrefix: string], 1 | -1> = {
  name: 'lock.semaphore-leave',
  sha: 'f65d574ad7087dde0d0a6a2694309545f638a565',
  effect: 'idempotent',
  lua: [
    "local function liveHead(queue, alive, now)",
    "  local head, left",
    "  for _ = 1, 200 do",
    "    head = redis.call('ZRANGE', queue, 0, 0)[1]",
    "    if not head then return nil, 0 end",
    "    left = (redis.call('ZSCORE', alive, head) or 0) - now",
    "    if left > 0 then return head, left end",
    "    redis.call('ZREM', queue, head)",
    "    redis.call('ZREM', alive, head)",
    "  end",
    "  return head, 0",
    "end",
    "local function enqueue(queue, alive, waiter, aliveUntil)",
    "  if not redis.call('ZSCORE', queue, waiter) then",
    "    local last = redis.call('ZRANGE', queue, -1, -1, 'WITHSCORES')[2] or 0",
    "    redis.call('ZADD', queue, last + 1, waiter)",
    "  end",
    "  redis.call('ZADD', alive, aliveUntil, waiter)",
    "  redis.call('PEXPIRE', queue, 60000)",
    "  redis.call('PEXPIRE', alive, 60000)",
    "end",
    "local function dequeue(queue, alive, waiter)",
    "  redis.call('ZREM', queue, waiter)",
    "  redis.call('ZREM', alive, waiter)",
    "end",
    "local function wake(prefix, waiter, fence)",
    "  redis.pcall('PUBLISH', prefix .. string.match(waiter, '^[^|]+'), fence and waiter .. ' ' .. fence or waiter)",
    "end",
    "local FIRST_TIME = '(1000000'",
    "local function permitsOf(member)",
    "  return tonumber(string.match(member, '^%d+'))",
    "end",
    "local function permitsInUse(leases, now)",
    "  local freed = 0",
    "  for _, member in ipairs(redis.call('ZRANGEBYSCORE', leases, FIRST_TIME, now)) do",
    "    freed = freed + permitsOf(member)",
    "    redis.call('ZREM', leases, member)",
    "  end",
    "  if freed > 0 then redis.call('ZINCRBY', leases, -freed, '') end",
    "  return tonumber(redis.call('ZSCORE', leases, '') or 0)",
    "end",
    "local function expireWithLast(leases)",
    "  redis.call('PEXPIREAT', leases, redis.call('ZRANGE', leases, -1, -1, 'WITHSCORES')[2])",
    "end",
    "local function wakeFirst(queue, alive, now, free, prefix)",
    "  if free < 1 or redis.call('EXISTS', queue) == 0 then return end",
    "  local head, left = liveHead(queue, alive, now)",
    "  if left > 0 and tonumber(string.match(head, '%d+$')) <= free then wake(prefix, head) end",
    "end",
    "local call = redis.call",
    "local leases, queue, alive = KEYS[1], KEYS[2], KEYS[3]",
    "local mine = ARGV[2] .. '|' .. ARGV[1]",
    "local time = call('TIME')",
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)",
    "if ARGV[4] ~= '' then dequeue(queue, alive, ARGV[4]) end",
    "local used = permitsInUse(leases, now)",
    "local held = call('ZREM', leases, mine)",
    "if held == 1 then",
    "  used = used - permitsOf(mine)",
    "  call('ZINCRBY', leases, -permitsOf(mine), '')",
    "end",
    "if used < 1 then call('DEL', leases) end",
    "wakeFirst(queue, alive, now, ARGV[3] - used, ARGV[5])",
    "return held == 1 and 1 or -1",
  ].join('\n'),
};
