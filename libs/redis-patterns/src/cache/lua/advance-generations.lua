--- Writes new generations into the cells of tags that are about to be invalidated.
--- KEYS[1] generationsKey: string  the generations
--- ARGV[1] value: string           a text that no cell has had before
--- ARGV[2] ttl: number             how long they are remembered, milliseconds
--- ARGV[3...] offsets: number      (variadic, last) where the cells begin
--- RETURNS 1
--- EFFECT idempotent
for index = 3, #ARGV do redis.call('SETRANGE', KEYS[1], ARGV[index], ARGV[1]) end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
