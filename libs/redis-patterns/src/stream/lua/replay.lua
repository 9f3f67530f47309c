--- Gives entries of a stream to one group once more: they go to its retries, due now, as if they had never been tried. Where the
--- group is ordered by key, each waits for its turn.
--- KEYS[1] source: string    the stream, or the dead letters of the group
--- KEYS[2] retries: string
--- KEYS[3] meta: string
--- KEYS[4] lanes: string     lane -> original id of the message whose turn it is
--- KEYS[5] parked: string    those that wait for their turn
--- ARGV[1] isDeadLetter: number  1: the source is the dead letters, from which what is replayed is deleted
--- ARGV[2] ttlMs: number     of what the group keeps
--- ARGV[3] group: string
--- ARGV[4...] ids: string
--- RETURNS number  how many there were
--- EFFECT once
--- @include lib/notes.lua
--- @include lib/keep.lua
--- @include lib/lanes.lua
local isOrdered = redis.call('HGET', KEYS[3], 'order:' .. ARGV[3]) == 'key'
local replayed = 0
for i = 4, #ARGV do
  local found = redis.call('XRANGE', KEYS[1], ARGV[i], ARGV[i])[1]
  if found then
    local own, original = {}, found[1]
    for j = 1, #found[2], 2 do
      local name, value = found[2][j], found[2][j + 1]
      if name == 'x-dlq-id' then original = value end
      if ARGV[1] == '0' or string.sub(name, 1, 6) ~= 'x-dlq-' then
        own[#own + 1] = name
        own[#own + 1] = value
      end
    end
    local fields = noted(own, original, '0', '0')
    if isOrdered then
      enter(KEYS[4], KEYS[5], KEYS[2], original, fields)
    else
      redis.call('XADD', KEYS[2], '*', unpack(fields))
    end
    if ARGV[1] == '1' then redis.call('XDEL', KEYS[1], found[1]) end
    replayed = replayed + 1
  end
end
if replayed > 0 then redis.call('PEXPIRE', KEYS[2], ARGV[2]) end
if isOrdered then
  keep(KEYS[4], ARGV[2])
  keep(KEYS[5], ARGV[2])
end
return replayed
