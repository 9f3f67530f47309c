import { openStreams } from '../test-streams.js';
import { onParent, programData, tellParent } from '../../../support/parent.js';
import type { PlainConnection } from '../../../support/topologies.js';

export interface ConsumerSetup {
  readonly connection: PlainConnection;
  readonly namespace: string;
  readonly name: string;
  readonly options: { concurrency: number; prefetch: number; lease: number; maxDeliveries?: number };
  /** Milliseconds that a handler takes; `'forever'`: it never ends. */
  readonly takes: number | 'forever';
  /** Whether a handler fails, in the end. */
  readonly fails?: boolean;
}

// A process that consumes `work`/`g` and says what it does. A payload `'killer'` ends it as a crash would.
const { connection, namespace, name, options, takes, fails } = programData<ConsumerSetup>();
const streams = await openStreams(connection, namespace);
const { ready } = streams.runtime.consume({ stream: 'work', group: 'g', block: 200, ...options }, async (body, ctx) => {
  await tellParent({ type: 'begin', name, body, attempt: ctx.attempt, deliveries: ctx.deliveryCount });
  if (body === 'killer') process.kill(process.pid, 'SIGKILL');
  if (takes === 'forever') await new Promise(() => undefined);
  else await new Promise((resolve) => setTimeout(resolve, takes));
  await tellParent({ type: 'end', name, body, aborted: ctx.signal.aborted });
  if (fails) throw new Error('it fails');
});
onParent('drain', () => void streams.close().then(() => tellParent({ type: 'drained' })));
streams.runtime.start();
await ready;
await tellParent({ type: 'ready' });
