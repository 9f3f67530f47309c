-- ARGV[1] and ARGV[2] are the ends of the bucket that the caller takes for the present one; without an end nothing is compared.
--- @include time.lua
local from, to = tonumber(ARGV[1]), tonumber(ARGV[2])
if to > 0 and (now < from or now >= to) then
  return { 'moved', string.format('%.0f', now) }
end
