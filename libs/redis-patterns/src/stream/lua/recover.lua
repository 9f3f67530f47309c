--- Gives the bodies of entries that are pending for the consumer and that it does not have, because a reply was lost.
--- KEYS[1] source: string    the stream or the retries of the group
--- ARGV[1] group: string
--- ARGV[2] consumer: string
--- ARGV[3...] ids: string
--- RETURNS [entries: [id: string, deliveries: number, fields: string[]][], trimmed: number]
--- EFFECT idempotent
--- @include lib/owner.lua
--- @include lib/describe.lua
local entries, trimmed = {}, 0
for i = 3, #ARGV do
  local record = owned(KEYS[1], ARGV[1], ARGV[2], ARGV[i])
  if record then
    local entry = describe(KEYS[1], ARGV[i], record[4])
    if entry then
      redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, ARGV[i], 'JUSTID')
      entries[#entries + 1] = entry
    else
      redis.call('XACK', KEYS[1], ARGV[1], ARGV[i])
      trimmed = trimmed + 1
    end
  end
end
return { entries, trimmed }
