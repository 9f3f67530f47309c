-- What the retry plane notes of an entry beside its own fields.
local NOTES = { ['x-original-id'] = true, ['x-attempt'] = true, ['x-first-failed'] = true, ['x-deliveries'] = true }
-- The fields without their notes, and the notes.
local function split(fields)
  local own, notes = {}, {}
  for i = 1, #fields, 2 do
    if NOTES[fields[i]] then
      notes[fields[i]] = fields[i + 1]
    else
      own[#own + 1] = fields[i]
      own[#own + 1] = fields[i + 1]
    end
  end
  return own, notes
end
-- The fields for the retry plane, with these notes instead of the ones they had.
local function noted(fields, originalId, attempt, deliveries, firstFailed)
  local own = split(fields)
  local notes = { 'x-original-id', originalId, 'x-attempt', attempt, 'x-deliveries', deliveries }
  if firstFailed then
    notes[#notes + 1] = 'x-first-failed'
    notes[#notes + 1] = firstFailed
  end
  for _, value in ipairs(notes) do own[#own + 1] = value end
  return own
end
