--- Where members stand, as it is at one moment.
--- KEYS[1] board: string  as submit
--- KEYS[2] members: string  as submit
--- KEYS[3] datas: string  as submit
--- KEYS[4] scores: string  as submit
--- ARGV[1] from: number  begin of the bucket that is meant to be the present one
--- ARGV[2] to: number  its end; 0: whatever the time is
--- ARGV[3] order: 'desc' | 'asc'  what is better
--- ARGV[4] ties: 'competition' | 'first' | 'dense'  how equal scores are ranked
--- ARGV[5...] names: string  members
--- RETURNS [state: 'moved', now: string] | [state: 'ok', total: number, ...entries: (string | number | null)[]]  position, score, rank, data or null of each; position -1: not on the board
--- EFFECT read
--- @include ../../buckets/lua/lib/now.lua
--- @include lib/read.lua
local reply = { 'ok', redis.call('ZCARD', board) }
for i = 5, #ARGV do
  local entry = entryOf(ARGV[i])
  local position = entry and positionOf(entry)
  local score = position and redis.call('ZSCORE', board, entry)
  local n = #reply
  if score then
    reply[n + 1], reply[n + 2], reply[n + 3], reply[n + 4] =
      position, score, rankOf(entry, score), redis.call('HGET', datas, ARGV[i])
  else
    reply[n + 1], reply[n + 2], reply[n + 3], reply[n + 4] = -1, '', 0, false
  end
end
return reply
