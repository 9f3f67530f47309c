import { sleep } from '../../core/abort.js';
import { runScript } from '../../scripting/index.js';
import { leaveScript } from '../scripts.generated.js';
import { StreamDrainedError } from '../stream.errors.js';
import type { Claims } from './claim.js';
import type { Dispatcher } from './dispatcher.js';
import type { Held } from './held.js';
import type { HeldEntry } from './held-entry.js';
import type { Lanes } from './lanes.js';
import type { LeaseKeeper } from './lease.js';
import type { Moves } from './moves.js';
import type { Plane, ReaderScope } from './scope.js';
import type { Acks } from './settle.js';

/** Time that aborted handlers have to end, and the last scripts to run. */
const GRACE = 1000;
const ACK_LIMIT = 2000;

interface Parts {
  readonly scope: ReaderScope;
  readonly held: Held;
  readonly acks: Acks;
  readonly moves: Moves;
  readonly claims: Claims;
  readonly leases: LeaseKeeper;
  readonly dispatcher: Dispatcher;
  readonly lanes: Lanes | undefined;
}

/**
 * The end of a reader that no longer reads: what has not begun is handed over, what runs ends or is aborted, what is done is
 * acknowledged.
 *
 * @param timeout milliseconds for the handlers; then they are aborted and have another second
 */
export async function drainReader(parts: Parts, timeout: number): Promise<void> {
  const { scope, held, acks, moves, leases, dispatcher } = parts;
  await handOver(parts, ({ state }) => state === 'buffered');
  if (!(await dispatcher.idleWithin(timeout))) {
    const reason = new StreamDrainedError(scope.label, timeout);
    for (const entry of held.values()) if (entry.state === 'running') entry.abort(reason);
    await dispatcher.idleWithin(GRACE);
  }
  await within(moves.idle(), GRACE);
  await acks.allConfirmed(ACK_LIMIT);
  acks.close();
  // A run that does not follow its signal goes on, and its message runs elsewhere.
  await handOver(parts, ({ state }) => state !== 'acked');
  leases.stop();
  await leave(scope);
}

/** Others take over at once what is pending for us and not under way. */
async function handOver({ held, moves, claims, lanes }: Parts, which: (entry: HeldEntry) => boolean): Promise<void> {
  await lanes?.route().catch(() => undefined);
  for (const plane of claims.planes) {
    // Without an answer their leases end by themselves.
    await handOverPlane(plane).catch(() => undefined);
  }

  async function handOverPlane(plane: Plane): Promise<void> {
    const entries = held.of(plane, (entry) => !entry.lost && which(entry));
    const trimmed = entries.filter(({ gone }) => gone);
    await moves.release(
      plane,
      entries.filter(({ gone }) => !gone),
    );
    for (const entry of trimmed) await moves.retryNow(entry, { delay: 0, attempt: entry.failures });
    for (const entry of entries) held.remove(entry);
    // What was delivered in replies that were lost has never begun.
    for await (const ids of claims.strays(plane)) {
      const strays = ids.map((id) => ({ id, unfinishedStarts: 0 }));
      await moves.release(plane, strays);
    }
  }
}

async function leave({ context, keys, group, consumer }: ReaderScope): Promise<void> {
  const call = runScript(context.connection, leaveScript, [keys.stream, keys.retries, keys.members], [group, consumer]);
  await call.catch(() => undefined);
}

async function within(work: Promise<void>, ms: number): Promise<void> {
  const stop = new AbortController();
  await Promise.race([work, sleep(ms, stop.signal).catch(() => undefined)]);
  stop.abort();
}
