--- Removes a consumer that has nothing pending.
--- KEYS[1] stream: string
--- KEYS[2] retries: string
--- KEYS[3] members: string
--- ARGV[1] group: string
--- ARGV[2] consumer: string
--- RETURNS 0 | 1  0 when it has entries pending, and stays until they are done elsewhere
--- EFFECT idempotent
--- @include lib/reap.lua
return reap(KEYS[1], KEYS[2], KEYS[3], ARGV[1], ARGV[2])
