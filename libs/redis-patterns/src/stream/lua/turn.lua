--- Whether a message of a group that is ordered by key is still under way: whose turn it is only who is done with it can end.
--- KEYS[1] lanes: string   lane -> original id of the message whose turn it is
--- ARGV[1] key: string     '' for none
--- ARGV[2] originalId: string
--- RETURNS 0 | 1  1 when it is its turn
--- EFFECT read
--- @include lib/lanes.lua
return redis.call('HGET', KEYS[1], laneOf({ 'key', ARGV[1] }, ARGV[2])) == ARGV[2] and 1 or 0
