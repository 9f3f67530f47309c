--- Renews the leases of entries that the consumer still holds.
--- KEYS[1] source: string  the stream or the retries of the group
--- ARGV[1] group: string
--- ARGV[2] consumer: string
--- ARGV[3...] ids: string
--- RETURNS [lost: string[], gone: string[]]  ids that belong to nobody or to another consumer; ids trimmed from the stream
--- EFFECT idempotent
--- @include lib/owner.lua
local lost, gone = {}, {}
for i = 3, #ARGV do
  if not owned(KEYS[1], ARGV[1], ARGV[2], ARGV[i]) then
    lost[#lost + 1] = ARGV[i]
  elseif #redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, ARGV[i], 'JUSTID') == 0 then
    gone[#gone + 1] = ARGV[i]
  end
end
return { lost, gone }
