--- Reads a part of the index of a principal.
--- KEYS[1] index: string  handle -> end of the session, server milliseconds
--- ARGV[1] offset: number  entries to skip
--- ARGV[2] count: number  most entries to read
--- RETURNS string[]  handle and end of each
--- EFFECT idempotent
--- @include lib/index.lua
prune(KEYS[1])
return call('ZRANGE', KEYS[1], ARGV[1], ARGV[1] + ARGV[2] - 1, 'WITHSCORES')
