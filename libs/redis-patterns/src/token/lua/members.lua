--- Reads tokens of one purpose and principal, those that end first. A script, so that the master is asked whatever `readFrom` says.
--- KEYS[1] index: string  of the principal: hash -> end, server milliseconds
--- ARGV[1] count: number  most tokens to read
--- RETURNS string[]  their hashes
--- EFFECT read
return redis.call('ZRANGE', KEYS[1], 0, ARGV[1] - 1)
