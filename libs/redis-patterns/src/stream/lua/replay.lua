--- Gives entries of a stream to one group once more: they go to its retries, due now, as if they had never been tried.
--- KEYS[1] source: string    the stream, or the dead letters of the group
--- KEYS[2] retries: string
--- ARGV[1] isDeadLetter: number  1: the source is the dead letters, from which what is replayed is deleted
--- ARGV[2] ttlMs: number     of the retries
--- ARGV[3...] ids: string
--- RETURNS number  how many there were
--- EFFECT once
--- @include lib/notes.lua
local replayed = 0
for i = 3, #ARGV do
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
    redis.call('XADD', KEYS[2], '*', unpack(noted(own, original, '0', '0')))
    if ARGV[1] == '1' then redis.call('XDEL', KEYS[1], found[1]) end
    replayed = replayed + 1
  end
end
if replayed > 0 then redis.call('PEXPIRE', KEYS[2], ARGV[2]) end
return replayed
