-- An entry is its id, 26 characters, and its text: all entries with an id are from `[id` to `(after(id)`.
local function after(id)
  return string.sub(id, 1, 25) .. string.char(string.byte(id, 26) + 1)
end
