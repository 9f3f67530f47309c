import type { DirectServers } from '../../connection/index.js';
import { Deadline, sleep } from '../../core/index.js';
import type { ResolvedExamination } from '../doctor.options.js';
import type { Answer, NodeFacts, SampledKey, StreamFacts } from '../snapshot.js';
import type { Info } from './info.js';
import { ReadOnlyClient } from './read-only-client.js';
import { Sampler, type NodeSample } from './sampler.js';
import { readInfo, readServer, type FirstFacts } from './server-facts.js';
import { StreamWatch } from './streams.js';

export interface NodeExamination {
  readonly facts: NodeFacts;
  readonly sample: NodeSample;
  /** Keys that the server has. */
  readonly size: number;
  /** Why it did not answer to the end. */
  readonly lost: string | undefined;
  streams(prefixOf: (key: SampledKey) => string): Answer<StreamFacts[]>;
}

export interface NodeTask {
  readonly servers: DirectServers;
  readonly socketName: string;
  readonly options: ResolvedExamination;
  readonly deadline: Deadline;
  readonly timeout: () => number;
  /** Keys that this server may be asked about. */
  readonly maxKeys: number;
  readonly progress: (keys: number, of: number) => void;
}

/** Milliseconds that are kept for what comes after the sample. */
const RESERVE = 500;

/** Looks at one server: settings and counters, then a sample, then growth. What fails on the way ends in the answers. */
export async function examineNode(client: ReadOnlyClient, task: NodeTask): Promise<NodeExamination> {
  const { options, deadline, servers, socketName, timeout } = task;
  const first = await readServer(client, servers, socketName, timeout);
  const info = 'value' in first.info ? first.info.value : undefined;
  const sample = await takeSample(client, task, info);
  const watch = new StreamWatch(client, sample.keys, info?.now ?? 0);
  const before = options.window === 0 ? first.info : await readInfo(client);
  await watch.look();
  let counters: Answer<Info> = first.info;
  if (options.window > 0 && client.lost === undefined) {
    await sleep(Math.min(options.window / 2, deadline.remaining()), options.signal);
    await watch.look();
    await sleep(Math.min(options.window / 2, deadline.remaining()), options.signal);
    await watch.look();
    counters = difference(before, await readInfo(client));
  } else if (options.window > 0) {
    counters = { reason: `the server did not answer (${client.lost})` };
  }
  return {
    facts: { ...first, counters, windowMs: options.window > 0 ? options.window : undefined },
    sample,
    size: sizeOf(first),
    lost: client.lost,
    streams: (prefixOf) => watch.facts(prefixOf),
  };
}

function sizeOf({ info }: FirstFacts): number {
  return 'value' in info ? info.value.databases.reduce((sum, { keys }) => sum + keys, 0) : 0;
}

function difference(before: Answer<Info>, after: Answer<Info>): Answer<Info> {
  if (!('value' in before)) return before;
  return 'value' in after ? { value: after.value.since(before.value) } : after;
}

async function takeSample(client: ReadOnlyClient, task: NodeTask, info: Info | undefined): Promise<NodeSample> {
  const { options, deadline, maxKeys, progress } = task;
  const version = (info?.version ?? '').split('.').map(Number);
  const [major = 0, minor = 0] = version;
  const knowsNoTouch = major > 7 || (major === 7 && minor >= 2);
  const noTouch = knowsNoTouch && 'value' in (await client.ask(String, 'CLIENT NO-TOUCH', 'ON'));
  return new Sampler(client, {
    // Without INFO the number of databases is not known.
    databases: info === undefined ? [{ db: 0, keys: 1 }] : info.databases,
    maxKeys,
    deadline: deadline.within(Math.max(1, deadline.remaining() - options.window - RESERVE)),
    duty: options.duty,
    latencyGuard: options.latencyGuard,
    frequencies: info?.text('maxmemory_policy')?.endsWith('lfu') === true,
    noTouch,
    signal: options.signal,
    progress: (keys) => progress(keys, info?.databases.reduce((sum, db) => sum + db.keys, 0) ?? 0),
  }).run();
}

/** What the Sentinels say of their quorum. */
export async function askQuorum(
  servers: DirectServers,
  timeout: () => number,
  signal: AbortSignal | undefined,
): Promise<Answer<{ ok: boolean; usable: number; text: string }> | undefined> {
  const found = await servers.sentinel(timeout, signal);
  if (found === undefined) return undefined;
  const { server, name } = found;
  if (server.client === undefined) return { reason: `no Sentinel answers: ${server.reason}` };
  const sentinel = new ReadOnlyClient(server.client);
  const answer = await sentinel.ask(String, 'SENTINEL CKQUORUM', name);
  sentinel.close();
  const text = 'value' in answer ? answer.value : answer.reason;
  const usable = Number(/(\d+) usable/.exec(text)?.[1] ?? 0);
  if ('value' in answer) return { value: { ok: text.startsWith('OK'), usable, text } };
  return /NOQUORUM/.test(text) ? { value: { ok: false, usable, text: 'NOQUORUM' } } : answer;
}
