--- Decides who loads a missing entry: gives the entry when it has been stored meanwhile, else the lease to one caller.
--- A repetition with the same token finds its own lease again.
--- KEYS[1] entryKey: string      the entry
--- KEYS[2] leaseKey: string      its lease, in the same slot
--- ARGV[1] token: string         who asks; 12 or more characters, none of them '!' or '~'
--- ARGV[2] leaseMs: number       the lease, milliseconds
--- ARGV[3] seenId: string        id of the entry that the caller cannot use, or ''
--- ARGV[4] schema: number        schema version of the caller
--- RETURNS [state: 0 | 1 | 2 | 3 | 4, entry: string | null, pttl: number]  0: entry is fresh; 1: you load and store; 2: another one loads; 3: load, do not store; 4: back off
--- EFFECT token
local entry = redis.call('GET', KEYS[1])
local pttl = redis.call('PTTL', KEYS[1])
if entry then
  local id, stale, schema = string.match(entry, '^~1;v=%d*;i=([^;]*);w=(%d+);d=%d*;s=(%d+)')
  if id then
    -- An older process must not replace what a newer one wrote in a form of its own.
    if tonumber(schema) > tonumber(ARGV[4]) then return { 3, entry, pttl } end
    if schema == ARGV[4] and pttl > tonumber(stale) and id ~= ARGV[3] then return { 0, entry, pttl } end
  end
end
local lease = redis.call('GET', KEYS[2])
if lease and lease ~= ARGV[1] then
  if lease == '!' then return { 3, entry, pttl } end
  if lease ~= '~' then return { 2, entry, pttl } end
  if entry then return { 4, entry, pttl } end
end
redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[2])
return { 1, entry, pttl }
