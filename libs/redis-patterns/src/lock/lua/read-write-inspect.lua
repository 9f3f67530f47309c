--- Tells who holds a read/write lock, and how many wait for it. Writes nothing: leases that have ended stay, uncounted.
--- KEYS[1] holdersKey: string  'r<token>' or 'w<token>' -> end of the lease, server milliseconds
--- KEYS[2] readersKey: string  waiting reader -> ticket
--- KEYS[3] writersKey: string  waiting writer -> ticket
--- KEYS[4] fenceKey: string  last fence of this lock
--- RETURNS [holders: number, leftMs: number, fence: string, readers: number, writers: number, members: string[]] | null  how many, until the last lease ends, fence of the last writer or '', waiters, at most 100 of the holders
--- EFFECT read
local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local after = '(' .. string.format('%.0f', now)
local members = call('ZRANGEBYSCORE', KEYS[1], after, '+inf', 'LIMIT', 0, 100)
if #members == 0 then return false end
local left = call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')[2] - now
local count = call('ZCOUNT', KEYS[1], after, '+inf')
return { count, left, call('GET', KEYS[4]) or '', call('ZCARD', KEYS[2]), call('ZCARD', KEYS[3]), members }
