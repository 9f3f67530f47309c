// A process that runs the messages of each key in order, and tells every beginning and end before it goes on.
import { openStreams } from '../../../integration/stream/test-streams.js';
import { onParent, programData, tellParent } from '../../../support/parent.js';
import type { PlainConnection } from '../../../support/topologies.js';
import { clock } from '../records.js';

export interface KeyBody {
  readonly key: string;
  readonly seq: number;
  /** Attempts that fail. */
  readonly fails?: number;
  /** Ends when the spec says so (`finish`, of its key or of all); `'aborted'`: or when its signal aborts. */
  readonly holds?: 'told' | 'aborted';
}

export interface KeyWorkerSetup {
  readonly connection: PlainConnection;
  readonly namespace: string;
  readonly reader: object;
}

const { connection, namespace, reader } = programData<KeyWorkerSetup>();
const streams = await openStreams(connection, namespace);
const told = (key: string): Promise<void> =>
  new Promise((resolve) => onParent('finish', (message) => (message.key ?? key) === key && resolve()));
let count = 0;

const { ready } = streams.runtime.consume(
  { stream: 's', group: 'g', ordering: 'key', ...reader },
  async (body, ctx): Promise<void> => {
    const { key, seq, fails = 0, holds } = body as KeyBody;
    const run = ++count;
    await tellParent({ type: 'begin', run, key, seq, from: clock() });
    const aborted = new Promise<void>((resolve) => ctx.signal.addEventListener('abort', () => resolve()));
    if (holds === undefined) await new Promise((resolve) => setTimeout(resolve, Math.random() * 4));
    else await (holds === 'told' ? told(key) : Promise.race([told(key), aborted]));
    await tellParent({ type: 'end', run, to: clock(), aborted: ctx.signal.aborted });
    if (ctx.attempt <= fails) throw new Error('this attempt fails');
  },
);
onParent('drain', () => void streams.runtime.drain('10s').then(() => process.exit()));
streams.runtime.start();
await ready;
await tellParent({ type: 'ready' });
