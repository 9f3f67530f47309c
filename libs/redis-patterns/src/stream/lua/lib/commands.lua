-- Runs commands from JSON: a list of lists of texts, and for a key its number in KEYS.
local function runCommands(json)
  local commands = cjson.decode(json)
  for _, command in ipairs(commands) do
    for i, part in ipairs(command) do
      if type(part) == 'number' then command[i] = KEYS[part] end
    end
    redis.call(unpack(command))
  end
  return #commands
end
