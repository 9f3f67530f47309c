import {
  RedisUnavailableError,
  type EngineContext,
  type Operation,
  type RedisConnection,
} from '../../connection/index.js';
import { InvalidOptionsError } from '../../core/errors.js';
import type { Key } from '../../keys/index.js';
import type { Reaper } from '../reaper.js';
import type { Resource } from '../resource.js';
import { SingleLocks, type Inspected, type LockKeys } from '../single-lock.js';
import { RedlockNode } from './redlock-node.js';
import { Redlock } from './redlock.js';
import { quorumOf, vote } from './vote.js';

/** One wait for a node that does not answer, milliseconds. */
const PATIENCE = 60_000;

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
  /** Found out after the boot: with it no quorum means anything. */
  #misconfigured: InvalidOptionsError | undefined;

  constructor(private readonly setup: RedlockSetup) {
    const { context, nodes } = setup;
    this.#contexts = nodes.map((connection) => ({ ...context, connection }));
    this.#singles = this.#contexts.map((each) => new SingleLocks({ context: each, wakePrefix: '', liveness: 0 }));
  }

  /** @throws InvalidKeyError */
  keysOf(key: Key): LockKeys {
    return this.#singles[0]!.keysOf(key);
  }

  /** @throws InvalidOptionsError when two nodes turned out to be one server */
  resource(keys: LockKeys): Resource {
    if (this.#misconfigured !== undefined) throw this.#misconfigured;
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
    const holds = (token: string): typeof found => found.filter((other) => other[0] === token);
    const held = found.map(([token]) => holds(token)).find((those) => those.length >= quorum);
    if (held === undefined) return null;
    // What they agreed on; a node that granted after that has a higher one of its own.
    const agreed = mostFrequent(held.map(([, , fence]) => fence));
    return held.find(([, , fence]) => fence === agreed)!;
  }

  /** @throws RedisUnavailableError when too few nodes answer */
  async forceRelease(keys: LockKeys): Promise<1 | 0> {
    const asked = this.#singles.map((single) => single.forceRelease(keys));
    const { yes, failures } = await vote(asked, () => true);
    if (yes.length < quorumOf(asked.length)) throw failures[0];
    return yes.includes(1) ? 1 : 0;
  }

  /**
   * Refuses two connections to one server: it would vote twice. What does not answer now is looked at when it does; then locks are
   * refused. An even number of nodes survives no more losses than one less.
   *
   * @throws InvalidOptionsError
   */
  async check(where: string): Promise<void> {
    const { nodes, context } = this.setup;
    const { length } = nodes;
    if (length % 2 === 0) {
      const spared = `${length} nodes survive the loss of ${length - quorumOf(length)}, as ${length - 1} would: name an odd number`;
      const message = `lock.nodes: ${spared}`;
      context.telemetry.emit('warning', { pattern: 'Lock', code: 'ERR_LOCK_NODES', message });
    }
    const silent = await this.#compare(where);
    for (const node of silent) void this.#compareLater(node, where);
  }

  /**
   * Gives the nodes that do not answer.
   *
   * @throws InvalidOptionsError
   */
  async #compare(where: string): Promise<readonly RedisConnection[]> {
    const { nodes } = this.setup;
    const ids = await Promise.all(nodes.map((node) => runIdOf(node).catch(() => undefined)));
    ids.forEach((id, n) => {
      const first = ids.indexOf(id);
      if (id === undefined || first === n) return;
      const [one, other] = [nodes[first]!.name, nodes[n]!.name];
      const message = `'${one}' and '${other}' are the same server, which would vote twice; give independent servers`;
      throw new InvalidOptionsError(where, [{ path: 'lock.nodes', message }]);
    });
    return nodes.filter((_, n) => ids[n] === undefined);
  }

  async #compareLater(node: RedisConnection, where: string): Promise<void> {
    try {
      while (!(await answers(node)));
      await this.#compare(where);
    } catch (error) {
      // Else the application closes, or its user may not ask.
      if (!(error instanceof InvalidOptionsError)) return;
      this.#misconfigured = error;
      const { telemetry } = this.setup.context;
      telemetry.emit('error', { pattern: 'Lock', code: 'ERR_LOCK_NODES', message: error.message, error });
    }
  }
}

function mostFrequent(texts: readonly string[]): string {
  const times = (text: string): number => texts.filter((other) => other === text).length;
  return texts.toSorted((a, b) => times(b) - times(a))[0]!;
}

/** Waits for a node, for some time. */
async function answers(node: RedisConnection): Promise<boolean> {
  try {
    await runIdOf(node, { wait: true, deadline: PATIENCE });
    return true;
  } catch (error) {
    if (error instanceof RedisUnavailableError && error.code !== 'ERR_REDIS_CLOSED') return false;
    throw error;
  }
}

async function runIdOf(
  connection: RedisConnection,
  limits: Pick<Operation<string>, 'wait' | 'deadline'> = {},
): Promise<string | undefined> {
  const text = await connection.run({
    name: 'lock.redlock-check',
    effect: 'read',
    ...limits,
    send: (client) => client.info('server'),
  });
  return /^run_id:(\w+)/m.exec(text)?.[1];
}
