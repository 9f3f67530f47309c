--- Takes members off the board, with all that is kept of them.
--- KEYS[1] board: string  as submit
--- KEYS[2] members: string  as submit
--- KEYS[3] datas: string  as submit
--- KEYS[4] scores: string  as submit
--- KEYS[5] counts: string  as submit
--- ARGV[1] from: number  begin of the bucket that is meant to be the present one
--- ARGV[2] to: number  its end; 0: whatever the time is
--- ARGV[3] order: 'desc' | 'asc'  what is better
--- ARGV[4] ties: 'competition' | 'first' | 'dense'  how equal scores are ranked
--- ARGV[5...] names: string  members
--- RETURNS [state: 'moved', now: string] | [state: 'ok', removed: number]  how many were on it
--- EFFECT idempotent
--- @include ../../buckets/lua/lib/now.lua
--- @include lib/read.lua
--- @include lib/write.lua
local removed = 0
for i = 5, #ARGV do
  local entry = entryOf(ARGV[i])
  local score = entry and redis.call('ZSCORE', board, entry)
  if score then
    remove(entry, score)
    removed = removed + 1
  end
end
-- The count of turns goes with the last member.
if redis.call('EXISTS', board) == 0 then redis.call('DEL', members) end
return { 'ok', removed }
