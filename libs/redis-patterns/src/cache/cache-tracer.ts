import type { EngineContext } from '../connection/index.js';
import { keyTemplate, type Key } from '../keys/index.js';
import type { PatternTracer, TracedOperation } from '../telemetry/index.js';

/** What a lookup tells of itself: filled in as it goes. */
export type LookupNote = Pick<TracedOperation, 'outcome' | 'source'>;

/** Told what was found for each of several keys. */
export type Count = (state: keyof typeof WORDS) => void;

/** What a read found, as telemetry says it. */
export const WORDS = { hit: 'hit', stale: 'stale', miss: 'miss', offline: 'bypass' } as const;

type Write = 'set' | 'evict' | 'expire' | 'invalidate' | 'clear' | 'delete-pattern';

/** Tells what becomes of calls of the cache. Reads end as hit, stale, miss or bypass; writes as stored, evicted and the like. */
export class CacheTracer {
  readonly #tracer: PatternTracer;

  constructor({ telemetry, connection }: EngineContext) {
    this.#tracer = telemetry.tracer('cache', connection.name);
  }

  get active(): boolean {
    return this.#tracer.active;
  }

  get<T>(name: string, key: Key, read: (note: LookupNote) => Promise<T>): Promise<T> {
    return this.#tracer.run({ operation: 'get', name, keyTemplate: keyTemplate(key) }, read);
  }

  getMany<T>(name: string, keys: readonly Key[], read: (count: Count) => Promise<T>): Promise<T> {
    const facts = { operation: 'get-many', name, keyTemplate: commonTemplate(keys), batchSize: keys.length };
    return this.#tracer.run(facts, (operation) => {
      const counts: Record<string, number> = {};
      operation.counts = counts;
      return read((state) => (counts[WORDS[state]] = (counts[WORDS[state]] ?? 0) + 1));
    });
  }

  /** The run of a factory. */
  load<T>(name: string, factory: () => Promise<T>): Promise<T> {
    if (!this.#tracer.active) return factory();
    return this.#tracer.run({ operation: 'load', name }, factory);
  }

  write<T>(operation: Write, name: string, keys: readonly Key[], work: () => Promise<T>): Promise<T> {
    if (!this.#tracer.active) return work();
    const facts = { operation, name, keyTemplate: commonTemplate(keys), batchSize: keys.length };
    return this.#tracer.run(facts, work, {
      ended: (result, note) => (note.outcome = result === false || result === 0 ? 'nothing' : 'done'),
    });
  }
}

/** Of keys of several kinds there is none. */
function commonTemplate(keys: readonly Key[]): string | undefined {
  const [first, ...others] = keys.map(keyTemplate);
  return others.every((template) => template === first) ? first : undefined;
}
