--- A part of the board, with ranks and data, as it is at one moment.
--- KEYS[1] board: string  as submit
--- KEYS[2] members: string  as submit
--- KEYS[3] datas: string  as submit
--- KEYS[4] scores: string  as submit
--- ARGV[1] from: number  begin of the bucket that is meant to be the present one
--- ARGV[2] to: number  its end; 0: whatever the time is
--- ARGV[3] order: 'desc' | 'asc'  what is better
--- ARGV[4] ties: 'competition' | 'first' | 'dense'  how equal scores are ranked
--- ARGV[5] offset: number  of the first one
--- ARGV[6] size: number  how many
--- ARGV[7] member: string  '' or: the part with it in the middle, as full as it can be
--- RETURNS [state: 'moved', now: string] | [state: 'ok', ...entries: (string | number | null)[]]  member, score, rank, data or null of each
--- EFFECT read
--- @include ../../buckets/lua/lib/now.lua
--- @include lib/read.lua
local start, size = tonumber(ARGV[5]), tonumber(ARGV[6])
if ARGV[7] ~= '' then
  local entry = entryOf(ARGV[7])
  local position = entry and positionOf(entry)
  if not position then return { 'ok' } end
  start = math.max(0, math.min(position - math.floor(size / 2), redis.call('ZCARD', board) - size))
end
local found = redis.call(desc and 'ZREVRANGE' or 'ZRANGE', board, start, start + size - 1, 'WITHSCORES')
if #found == 0 then return { 'ok' } end
local names = {}
for i = 1, #found, 2 do names[#names + 1] = memberOf(found[i]) end
local data = redis.call('HMGET', datas, unpack(names))
-- Only the first is looked up: from there on it follows from the scores.
local rank, reply = rankOf(found[1], found[2]), { 'ok' }
for n = 1, #names do
  local score = found[2 * n]
  if n > 1 and (ties == 'first' or score ~= found[2 * n - 2]) then rank = ties == 'dense' and rank + 1 or start + n end
  reply[4 * n - 2], reply[4 * n - 1], reply[4 * n], reply[4 * n + 1] = names[n], score, rank, data[n]
end
return reply
