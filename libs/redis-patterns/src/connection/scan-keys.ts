import type { Operation, RedisConnection } from './redis-connection.js';

const COUNT = '1000';

/**
 * Goes through the keys of all masters that match a glob, a page at a time: SCAN, never KEYS. A page may be empty, and a key may
 * come twice.
 *
 * @param limits of each command
 * @throws RedisUnavailableError, RedisCommandError
 */
export async function* scanKeys(
  connection: RedisConnection,
  name: string,
  glob: string,
  limits: Pick<Operation<unknown>, 'deadline' | 'signal' | 'wait'>,
): AsyncGenerator<string[]> {
  for (const master of connection.masters()) {
    let cursor = '0';
    do {
      const from = cursor;
      const send = () => master.scan(from, 'MATCH', glob, 'COUNT', COUNT);
      const [next, keys] = await connection.run({ name, effect: 'read', ...limits, send });
      yield keys;
      cursor = next;
    } while (cursor !== '0');
  }
}
