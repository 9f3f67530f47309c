--- Gives the generations of all tags, one cell for each hash of a tag; makes them when there are none.
--- KEYS[1] generationsKey: string  the generations
--- ARGV[1] filler: string          a text that nobody else has, for the cells if there are none: losing them changes them all
--- ARGV[2] size: number            length of all cells
--- ARGV[3] ttl: number             how long they are remembered, milliseconds
--- ARGV[4] least: number           with less left their time is extended
--- RETURNS string                  all cells
--- EFFECT idempotent
local cells = redis.call('GET', KEYS[1])
local size = tonumber(ARGV[2])
if not cells or #cells ~= size then
  cells = string.sub(string.rep(ARGV[1], math.ceil(size / #ARGV[1])), 1, size)
  redis.call('SET', KEYS[1], cells, 'PX', ARGV[3])
elseif redis.call('PTTL', KEYS[1]) < tonumber(ARGV[4]) then
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
end
return cells
