--- Stores an entry at once, and keeps running loads from storing theirs.
--- KEYS[1] entryKey: string      the entry
--- KEYS[2] leaseKey: string      its lease
--- ARGV[1] entry: string         header and payload
--- ARGV[2] px: number            time to live, milliseconds
--- ARGV[3] version: string       '' for none, else decimal without leading zeros: a lower one than the stored one is refused
--- ARGV[4] schema: number        schema version of the caller
--- RETURNS 0 | 1 | 2             1: stored; 0: a newer version is kept; 2: evicted, as the entry was of a newer schema
--- EFFECT idempotent
local header = redis.call('GETRANGE', KEYS[1], 0, 191)
local version, schema = string.match(header, '^~1;v=(%d*);i=[^;]*;w=%d+;d=%d*;s=(%d+)')
if version and version ~= '' and ARGV[3] ~= '' then
  -- Compared as text: versions may be larger than what a Lua number keeps exactly.
  if #version > #ARGV[3] or (#version == #ARGV[3] and version > ARGV[3]) then return 0 end
end
if schema and tonumber(schema) > tonumber(ARGV[4]) then
  redis.call('DEL', KEYS[1], KEYS[2])
  return 2
end
-- SET comes first: after any other write a full server would not refuse it any more.
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
redis.call('DEL', KEYS[2])
return 1
