import type { Answer, GroupFacts, SampledKey, StreamFacts } from '../snapshot.js';
import { pairsOf } from './parse.js';
import { reasonOf, type ReadOnlyClient } from './read-only-client.js';

/** More streams, groups or consumers than these are not looked at: each costs a command or two. */
const MOST_STREAMS = 100;
const MOST_GROUPS = 20;
/** So many of the oldest pending entries: the number of all is not known before. */
const OLDEST_PENDING = 10;

interface GroupLook {
  readonly lag: number | undefined;
  readonly facts: Omit<GroupFacts, 'lag'>;
}

interface StreamLook {
  readonly length: number;
  readonly age: number;
  readonly groups: Answer<ReadonlyMap<string, GroupLook>>;
}

/**
 * Looks at the streams of a sample, several times so that growth can be seen. Before 7.2 these commands count as an access
 * to the stream (not to any other key).
 */
export class StreamWatch {
  readonly #looks: Map<SampledKey, StreamLook>[] = [];
  readonly #streams: readonly SampledKey[];
  #reason: string | undefined;

  constructor(
    private readonly client: ReadOnlyClient,
    keys: readonly SampledKey[],
    /** Wall clock of the server, milliseconds. */
    private readonly now: number,
  ) {
    this.#streams = keys.filter(({ type }) => type === 'stream').slice(0, MOST_STREAMS);
  }

  async look(): Promise<void> {
    if (this.#reason !== undefined) return;
    const looks = new Map<SampledKey, StreamLook>();
    try {
      for (const stream of this.#streams) {
        if (stream.db !== this.client.database) await this.client.call('SELECT', stream.db);
        const look = await this.#lookAt(stream);
        if (look !== undefined) looks.set(stream, look);
      }
      this.#looks.push(looks);
    } catch (error) {
      this.#reason = reasonOf(error as Error, 'XINFO STREAM');
    }
  }

  facts(prefixOf: (key: SampledKey) => string): Answer<StreamFacts[]> {
    const [first] = this.#looks;
    if (first === undefined)
      return this.#streams.length === 0 ? { value: [] } : { reason: this.#reason ?? 'not asked' };
    return {
      value: [...first].map(([stream, look]) => {
        const later = this.#looks.slice(1).map((looks) => looks.get(stream));
        return {
          prefix: prefixOf(stream),
          key: stream.name,
          deadLetters: /^[^:]+:stream~dlq:/.test(stream.name),
          length: look.length,
          laterLength: later.at(-1)?.length,
          age: look.age,
          groups: groupsOf(look, later),
        };
      }),
    };
  }

  async #lookAt({ name, length }: SampledKey): Promise<StreamLook | undefined> {
    // A name that was cut is no name any more.
    if (length !== Buffer.byteLength(name)) return undefined;
    const stream = await this.#info(name);
    if (stream === undefined) return undefined;
    const firstId = idOf((stream.get('first-entry') as unknown[] | null)?.[0]);
    return {
      length: Number(stream.get('length')),
      age: firstId === undefined ? 0 : Math.max(0, this.now - firstId),
      groups: await this.#groups(name, firstId),
    };
  }

  /** `undefined` for a stream that has gone since the sample named it. */
  async #info(name: string): Promise<Map<string, unknown> | undefined> {
    try {
      return pairsOf(await this.client.call('XINFO STREAM', name));
    } catch (error) {
      if (/^(?:ERR no such key|WRONGTYPE)/.test((error as Error).message)) return undefined;
      throw error;
    }
  }

  async #groups(name: string, firstId: number | undefined): Promise<StreamLook['groups']> {
    try {
      const groups = ((await this.client.call('XINFO GROUPS', name)) as unknown[]).slice(0, MOST_GROUPS);
      const looks = new Map<string, GroupLook>();
      for (const reply of groups) {
        const group = pairsOf(reply);
        looks.set(String(group.get('name')), await this.#group(name, group, firstId));
      }
      return { value: looks };
    } catch (error) {
      if (this.client.lost !== undefined) throw error;
      return { reason: reasonOf(error as Error, 'XINFO or XPENDING') };
    }
  }

  async #group(stream: string, group: Map<string, unknown>, firstId: number | undefined): Promise<GroupLook> {
    const name = String(group.get('name'));
    const consumers = ((await this.client.call('XINFO CONSUMERS', stream, name)) as unknown[]).map((reply) => {
      const consumer = pairsOf(reply);
      return { idle: Number(consumer.get('idle')), pending: Number(consumer.get('pending')) };
    });
    const pending = Number(group.get('pending'));
    const oldest =
      pending === 0
        ? []
        : ((await this.client.call('XPENDING', stream, name, '-', '+', OLDEST_PENDING)) as unknown[][]);
    const lag = group.get('lag');
    const delivered = idOf(group.get('last-delivered-id')) ?? 0;
    const since = Math.max(delivered, firstId ?? 0);
    const facts = {
      name,
      pending,
      oldestIdle: Math.max(0, ...oldest.map((entry) => Number(entry[2]))),
      consumers,
      quietFor: since === 0 ? undefined : Math.max(0, this.now - since),
    };
    return { lag: typeof lag === 'number' ? lag : undefined, facts };
  }
}

function groupsOf(first: StreamLook, later: readonly (StreamLook | undefined)[]): StreamFacts['groups'] {
  if ('reason' in first.groups) return first.groups;
  return {
    value: [...first.groups.value].map(([name, look]) => {
      const lags = later.map((next) => (next && 'value' in next.groups ? next.groups.value.get(name)?.lag : undefined));
      return { ...look.facts, lag: [look.lag, ...lags] };
    }),
  };
}

/** Milliseconds in an entry id. */
function idOf(id: unknown): number | undefined {
  if (id === null || id === undefined) return undefined;
  const ms = Number((id as Buffer).toString().split('-')[0]);
  return Number.isFinite(ms) ? ms : undefined;
}
