--- @include tolerant.lua
-- Moves the end of a live record without writing to it, which works when memory is full.
local function moveEnd(key, at)
  byTheWay('PEXPIREAT', key, at)
end

-- The idle time begins anew, but never beyond the absolute end. Only when a tenth of it is used: most reads write nothing.
local function touch(key, idleMs, absoluteEnd)
  local full = math.min(idleMs, absoluteEnd - now)
  if full - call('PTTL', key) >= idleMs / 10 then moveEnd(key, now + full) end
end
