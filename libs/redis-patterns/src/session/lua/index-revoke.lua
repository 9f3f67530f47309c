--- Lets no session of a principal come into being that was begun before, and reads those there are.
--- KEYS[1] index: string  handle -> end of the session, server milliseconds
--- KEYS[2] epoch: string  forgotten
--- ARGV[1] count: number  most entries to read
--- RETURNS string[]  handle and end of each
--- EFFECT idempotent
--- @include lib/index.lua
call('UNLINK', KEYS[2])
prune(KEYS[1])
return call('ZRANGE', KEYS[1], 0, ARGV[1] - 1, 'WITHSCORES')
