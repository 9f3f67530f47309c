import { afterEach, describe, expect, it } from '@jest/globals';
import { TelemetryListener } from './listening.js';
import type { TracedOperation } from './operation.js';
import { Telemetry } from './telemetry.js';
import { traceMethods } from './traced-methods.js';

class Refusal extends Error {
  readonly code = 'ERR_TEST_REFUSED';
}

class Store {
  readonly #value = 'value';

  constructor(private readonly tracer = telemetry.tracer('session', 'main')) {}

  async getOne(answer: unknown, b = 'b', c?: unknown, d?: unknown): Promise<unknown> {
    if (answer instanceof Error) throw answer;
    return d === undefined ? answer : [this.#value, answer, b, c, d];
  }

  async touch(): Promise<void> {}
}

const telemetry = new Telemetry('app');
traceMethods(Store, ['getOne', 'touch'], { acts: ['touch'], expected: { ERR_TEST_REFUSED: 'refused' } });

describe('traced methods', () => {
  const told: TracedOperation[] = [];
  let listener = new TelemetryListener('app');
  const listen = (): void => void (listener = new TelemetryListener('app').onOperation((each) => told.push(each)));
  afterEach(() => {
    listener.close();
    told.length = 0;
    telemetry.around = undefined;
  });

  it.each([
    ['nobody listens', () => undefined],
    ['somebody does', listen],
  ])('do the same when %s', async (_, begin) => {
    begin();
    const store = new Store();
    expect(await store.getOne(1, undefined, 3, 4)).toEqual(['value', 1, 'b', 3, 4]);
    const error = new TypeError('mine');
    await expect(store.getOne(error)).rejects.toBe(error);
    expect(store.getOne.name).toBe('getOne');
    // One that was made without its constructor, as a test may do, is not told.
    const bare = Object.create(Store.prototype) as Store;
    await expect(bare.touch()).resolves.toBeUndefined();
  });

  it('tell each call once, with what became of it', async () => {
    listen();
    const store = new Store();
    for (const answer of [0, 'x', [], false, null, undefined]) await store.getOne(answer);
    await store.touch();
    await store.getOne(new Refusal('secret')).catch(() => undefined);
    await store.getOne(new TypeError('secret')).catch(() => undefined);
    const words = told.map(({ operation, outcome, code }) => [operation, outcome, code].filter(Boolean).join(' '));
    expect(words.splice(0, 6)).toEqual(
      ['done', 'done', 'done', ...Array(3).fill('nothing')].map((end) => `get-one ${end}`),
    );
    expect(words).toEqual(['touch done', 'get-one refused ERR_TEST_REFUSED', 'get-one error TypeError']);
    expect(told[0]).toMatchObject({ pattern: 'session', connection: 'main', name: 'Store.getOne', app: 'app' });
    expect(JSON.stringify(told)).not.toContain('secret');
  });

  it('can be told when they are over', async () => {
    listen();
    const spans: TracedOperation[] = [];
    telemetry.around = (operation, run) => {
      spans.push({ ...operation });
      void run();
    };
    telemetry.tracer('stream', 'main').tell({ operation: 'receive', name: 'orders' }, performance.now() - 500);
    await new Promise(setImmediate);
    expect(told).toEqual([expect.objectContaining({ operation: 'receive', outcome: 'ok' })]);
    expect(told[0]!.elapsedMs).toBeGreaterThanOrEqual(500);
    // Whoever makes a span of it sees that it lies in the past.
    expect(spans[0]!.elapsedMs).toBe(told[0]!.elapsedMs);
  });
});
