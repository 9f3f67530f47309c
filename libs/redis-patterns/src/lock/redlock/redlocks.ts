import type { EngineContext, RedisConnection } from '../../connection/index.js';
import { InvalidOptionsError } from '../../core/errors.js';
import type { Key } from '../../keys/index.js';
import type { Reaper } from '../reaper.js';
import type { Resource } from '../resource.js';
import { SingleLocks, type Inspected, type LockKeys } from '../single-lock.js';
import { RedlockNode } from './redlock-node.js';
import { Redlock } from './redlock.js';
import { quorumOf, vote } from './vote.js';

/** Times are milliseconds. */
export interface RedlockSetup {
  readonly context: EngineContext;
  readonly nodes: readonly RedisConnection[];
  readonly reaper: Reaper;
  readonly nodeTimeout: number;
  /** How long a server must have run before it votes; 0: it always does. */
  readonly guardMs: number;
}

/** The locks of a quorum of independent nodes. */
export class Redlocks {
  readonly #contexts: readonly EngineContext[];
  readonly #singles: readonly SingleLocks[];

  constructor(private readonly setup: RedlockSetup) {
    const { context, nodes } = setup;
    this.#contexts = nodes.map((connection) => ({ ...context, connection }));
    this.#singles = this.#contexts.map((each) => new SingleLocks({ context: each, wakePrefix: '', liveness: 0 }));
  }

  /** @throws InvalidKeyError */
  keysOf(key: Key): LockKeys {
    return this.#singles[0]!.keysOf(key);
  }

  resource(keys: LockKeys): Resource {
    const { reaper, nodeTimeout, guardMs } = this.setup;
    const nodes = this.#contexts.map((context) => new RedlockNode(context, keys, guardMs));
    return new Redlock(keys.lock, nodes, reaper, nodeTimeout);
  }

  /** @throws RedisUnavailableError when too few nodes answer */
  async inspect(keys: LockKeys): Promise<Inspected> {
    const asked = this.#singles.map((single) => single.inspect(keys));
    const { yes, failures } = await vote(asked, () => true);
    const quorum = quorumOf(asked.length);
    if (yes.length < quorum) throw failures[0];
    const all = (await Promise.allSettled(asked)).flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    const found = all.filter((each) => each !== null);
    return found.find(([token]) => found.filter((other) => other[0] === token).length >= quorum) ?? null;
  }

  /** @throws RedisUnavailableError when too few nodes answer */
  async forceRelease(keys: LockKeys): Promise<1 | 0> {
    const asked = this.#singles.map((single) => single.forceRelease(keys));
    const { yes, failures } = await vote(asked, () => true);
    if (yes.length < quorumOf(asked.length)) throw failures[0];
    return yes.includes(1) ? 1 : 0;
  }

  /**
   * Refuses two connections to one server: it would vote twice. An even number of nodes survives no more losses than one less.
   *
   * @throws InvalidOptionsError
   */
  async check(where: string): Promise<void> {
    const { length } = this.setup.nodes;
    if (length % 2 === 0) {
      const spared = `${length} nodes survive the loss of ${length - quorumOf(length)}, as ${length - 1} would: name an odd number`;
      const message = `lock.nodes: ${spared}`;
      this.setup.context.telemetry.emit('warning', { pattern: 'Lock', code: 'ERR_LOCK_NODES', message });
    }
    const ids = await Promise.all(this.setup.nodes.map((node) => runIdOf(node).catch(() => undefined)));
    ids.forEach((id, n) => {
      const first = ids.indexOf(id);
      if (id === undefined || first === n) return;
      const [one, other] = [this.setup.nodes[first]!.name, this.setup.nodes[n]!.name];
      const message = `'${one}' and '${other}' are the same server, which would vote twice; give independent servers`;
      throw new InvalidOptionsError(where, [{ path: 'lock.nodes', message }]);
    });
  }
}

async function runIdOf(connection: RedisConnection): Promise<string | undefined> {
  const text = await connection.run({
    name: 'lock.redlock-check',
    effect: 'read',
    send: (client) => client.info('server'),
  });
  return /^run_id:(\w+)/m.exec(text)?.[1];
}
