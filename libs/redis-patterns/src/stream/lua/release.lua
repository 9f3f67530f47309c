--- Lets the leases of all entries that are pending for a consumer end now, except of those named: others may claim them at
--- once. No delivery is counted.
--- KEYS[1] stream: string
--- ARGV[1] group: string
--- ARGV[2] consumer: string
--- ARGV[3] idleMs: number    how long they shall seem to have been idle
--- ARGV[4...] kept: string   ids whose leases stay
--- RETURNS number  how many were released
--- EFFECT idempotent
local kept = {}
for i = 4, #ARGV do kept[ARGV[i]] = true end
local from, released = '-', 0
while true do
  local page = redis.call('XPENDING', KEYS[1], ARGV[1], from, '+', 500, ARGV[2])
  for _, record in ipairs(page) do
    if not kept[record[1]] then
      redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, record[1], 'IDLE', ARGV[3], 'JUSTID')
      released = released + 1
    end
    from = '(' .. record[1]
  end
  if #page < 500 then return released end
end
