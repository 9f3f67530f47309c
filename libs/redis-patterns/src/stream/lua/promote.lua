--- Appends what is due by the server's clock: retries to those of the group, delayed messages to the stream. Any member of the
--- group may do it, and looks at the pause flag on the way.
--- KEYS[1] stream: string
--- KEYS[2] delayed: string      id -> server time at which the message is due
--- KEYS[3] delayedBody: string  id -> packed fields
--- KEYS[4] retries: string
--- KEYS[5] due: string          original id -> server time at which the retry is due
--- KEYS[6] dueBody: string      original id -> packed fields
--- KEYS[7] paused: string
--- ARGV[1] limit: number        of each kind
--- ARGV[2] maxLen: number       of the stream when its retention is hard, else 0
--- ARGV[3] ttlMs: number        of the retries
--- RETURNS [promoted: number, nextMs: number, paused: 0 | 1]  nextMs: time until the next one is due, -1 when none waits
--- EFFECT idempotent
--- @include lib/time.lua
--- @include lib/promote-due.lua
local retried, nextRetry = promoteDue(KEYS[5], KEYS[6], KEYS[4], '0', ARGV[1], ARGV[3])
local published, nextDelayed = promoteDue(KEYS[2], KEYS[3], KEYS[1], ARGV[2], ARGV[1])
local next = nextRetry
if next < 0 or (nextDelayed >= 0 and nextDelayed < next) then next = nextDelayed end
return { retried + published, next, redis.call('EXISTS', KEYS[7]) }
