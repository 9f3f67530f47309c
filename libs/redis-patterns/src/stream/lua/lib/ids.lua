local function parts(id)
  local ms, seq = string.match(id, '^(%d+)-(%d+)$')
  return ms, seq
end
local function less(a, b)
  local ams, aseq = parts(a)
  local bms, bseq = parts(b)
  if ams ~= bms then return tonumber(ams) < tonumber(bms) end
  return tonumber(aseq) < tonumber(bseq)
end
-- An id below `id` with nothing in between. A sequence that a double cannot count gives an id further below, which only
-- means that some entries are delivered again.
local function before(id)
  local ms, seq = parts(id)
  if seq ~= '0' and #seq <= 15 then return ms .. '-' .. string.format('%.0f', tonumber(seq) - 1) end
  if ms == '0' then return '0-0' end
  return string.format('%.0f', tonumber(ms) - 1) .. '-18446744073709551615'
end
-- XINFO answers with names and values in turn.
local function field(info, name)
  for i = 1, #info, 2 do
    if info[i] == name then return info[i + 1] end
  end
end
