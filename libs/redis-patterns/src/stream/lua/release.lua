--- Hands over entries that a consumer holds and has not begun with: they go to the retries of the group, due now, with the
--- attempts that they had. A consumer that waits for work takes them at once.
--- KEYS[1] source: string   the stream or the retries of the group: where the entries are
--- KEYS[2] retries: string
--- ARGV[1] group: string
--- ARGV[2] consumer: string
--- ARGV[3] isRetry: number  1: the source is the retries
--- ARGV[4] ttlMs: number    of the retries
--- ARGV[5...] entries: string | number  in turn: id, starts that never came to an end
--- RETURNS string[]  ids that were trimmed from the stream, and not handed over
--- EFFECT idempotent
--- @include lib/notes.lua
--- @include lib/owner.lua
local trimmed = {}
for i = 5, #ARGV, 2 do
  local id = ARGV[i]
  if owned(KEYS[1], ARGV[1], ARGV[2], id) then
    local found = redis.call('XRANGE', KEYS[1], id, id)[1]
    if found then
      local _, notes = split(found[2])
      local original = notes['x-original-id'] or id
      local fields = noted(found[2], original, notes['x-attempt'] or '0', ARGV[i + 1], notes['x-first-failed'])
      redis.call('XADD', KEYS[2], '*', unpack(fields))
      redis.call('PEXPIRE', KEYS[2], ARGV[4])
      redis.call('XACK', KEYS[1], ARGV[1], id)
      if ARGV[3] == '1' then redis.call('XDEL', KEYS[1], id) end
    else
      trimmed[#trimmed + 1] = id
    end
  end
end
return trimmed
