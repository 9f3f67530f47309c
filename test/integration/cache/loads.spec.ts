import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { eventually } from '../../support/eventually.js';
import { describeOnEachTopology } from '../../support/topologies.js';
import { GatedFactory, openCache, type TestCache } from './test-cache.js';

describeOnEachTopology('loads', { user: 'cache' }, (topology) => {
  // Two engines with connections of their own stand for two processes.
  let here: TestCache;
  let there: TestCache;
  let names = 0;
  let key: readonly [string, number];

  const entryKey = () => `${topology.namespace}:cache:load:${names}`;
  const leaseKey = () => `${topology.namespace}:cache~lease:{${entryKey()}}`;
  const redis = () => topology.admin.client;

  beforeEach(async () => {
    key = ['load', ++names];
    [here, there] = await Promise.all([openCache(topology), openCache(topology)]);
  });
  afterEach(() => Promise.all([here?.close(), there?.close()]));

  it('calls the factory once for 100 parallel misses of one key', async () => {
    let runs = 0;
    const load = () => here.cache.getOrSet(key, async () => ++runs);
    expect(await Promise.all(Array.from({ length: 100 }, load))).toEqual(Array(100).fill(1));
    expect(runs).toBe(1);
  });

  it('runs one factory over two processes, and both get its value', async () => {
    const gated = new GatedFactory<string>();
    const first = here.cache.getOrSet(key, gated.make);
    await eventually(() => gated.runs === 1);
    const second = there.cache.getOrSet(key, gated.make);
    await asked(there);
    gated.open(1, 'value');
    expect(await Promise.all([first, second])).toEqual(['value', 'value']);
    expect(gated.runs).toBe(1);
  });

  it('needs 1 command for a hit and 3 for a load', async () => {
    // The first load anywhere also teaches its server the scripts.
    await here.cache.getOrSet(key, async () => 0);
    await here.cache.evict(key);
    const commands = await recorded(async () => {
      await here.cache.getOrSet(key, async () => 1);
      await here.cache.getOrSet(key, async () => 1);
    });
    expect(commands).toEqual(['get', 'evalsha', 'evalsha', 'get']);
  });

  it.each(['here', 'there'])('does not let a running load store after an eviction %s', async (where) => {
    const gated = new GatedFactory<string>();
    const early = here.cache.getOrSet(key, gated.make);
    await eventually(() => gated.runs === 1);
    await (where === 'here' ? here : there).cache.evict(key);
    const late = here.cache.getOrSet(key, gated.make);
    await asked(here);
    gated.open(1, 'before the eviction');
    expect(await early).toBe('before the eviction');
    await eventually(() => gated.runs === 2);
    gated.open(2, 'after the eviction');
    expect(await late).toBe('after the eviction');
    expect(await here.cache.get(key)).toBe('after the eviction');
    expect(await redis().exists(leaseKey())).toBe(0);
  });

  it.each(['here', 'there'])('does not let a running load overwrite what is set %s', async (where) => {
    const gated = new GatedFactory<string>();
    const early = here.cache.getOrSet(key, gated.make);
    await eventually(() => gated.runs === 1);
    await (where === 'here' ? here : there).cache.set(key, 'set');
    expect(await here.cache.getOrSet(key, gated.make)).toBe('set');
    gated.open(1, 'loaded');
    expect(await early).toBe('loaded');
    expect(await here.cache.get(key)).toBe('set');
    expect(gated.runs).toBe(1);
  });

  it('covers a caller that joined before the eviction, not one that joined after it', async () => {
    const gated = new GatedFactory<string>();
    const first = here.cache.getOrSet(key, gated.make);
    await eventually(() => gated.runs === 1);
    const joinedBefore = here.cache.getOrSet(key, gated.make);
    await asked(here);
    await there.cache.evict(key);
    const joinedAfter = here.cache.getOrSet(key, gated.make);
    await asked(here);
    gated.open(1, 'old');
    expect(await first).toBe('old');
    await eventually(() => gated.runs === 2);
    gated.open(2, 'new');
    expect(await joinedAfter).toBe('new');
    // It joined while the factory ran, and cannot know that no eviction came first: it gets the newer value.
    expect(await joinedBefore).toBe('new');
    expect(await here.cache.get(key)).toBe('new');
  });

  it('lets nobody join a load whose commit is on its way', async () => {
    const replied = new GatedFactory<void>();
    const after = (operation: string) =>
      operation === 'cache.commit' && replied.runs === 0 ? replied.make() : undefined;
    const slow = await openCache(topology, {}, {}, { after });
    try {
      const gated = new GatedFactory<string>();
      const early = slow.cache.getOrSet(key, gated.make);
      await eventually(() => gated.runs === 1);
      gated.open(1, 'before the eviction');
      await eventually(() => replied.runs === 1);
      await there.cache.evict(key);
      const late = slow.cache.getOrSet(key, gated.make);
      await eventually(() => gated.runs === 2);
      gated.open(2, 'after the eviction');
      replied.open(1, undefined);
      expect(await Promise.all([early, late])).toEqual(['before the eviction', 'after the eviction']);
    } finally {
      await slow.close();
    }
  });

  it('gives an entry that was found instead of the lease to nobody who came after it was read', async () => {
    const replied = new GatedFactory<void>();
    const [before, stored] = [new GatedFactory<void>(), { done: false }];
    const hooks = {
      // The entry appears between the read and the request for the lease.
      after: async (operation: string) => {
        if (operation === 'cache.get' && before.runs === 0) await before.make();
        if (operation === 'cache.begin' && !stored.done) await replied.make();
      },
    };
    const slow = await openCache(topology, {}, {}, hooks);
    try {
      const gated = new GatedFactory<string>();
      const early = slow.cache.getOrSet(key, gated.make);
      await eventually(() => before.runs === 1);
      await there.cache.set(key, 'before the eviction');
      before.open(1, undefined);
      await eventually(() => replied.runs === 1);
      stored.done = true;
      await there.cache.evict(key);
      const late = slow.cache.getOrSet(key, gated.make);
      await asked(slow);
      replied.open(1, undefined);
      expect(await early).toBe('before the eviction');
      await eventually(() => gated.runs === 1);
      gated.open(1, 'after the eviction');
      expect(await late).toBe('after the eviction');
    } finally {
      await slow.close();
    }
  });

  it('gives the lease back at once when the factory fails', async () => {
    const failing = here.cache.getOrSet(key, () => Promise.reject(new Error('database')), { lease: '60s' });
    await expect(failing).rejects.toThrow('database');
    expect(await here.cache.getOrSet(key, async () => 'next', { wait: 0 })).toBe('next');
    expect(await here.cache.get(key)).toBe('next');
  });

  it('stores nothing when the lease key has been lost, and the next call loads again', async () => {
    const gated = new GatedFactory<string>();
    const first = here.cache.getOrSet(key, gated.make);
    await eventually(() => gated.runs === 1);
    await redis().del(leaseKey());
    gated.open(1, 'first');
    expect(await first).toBe('first');
    expect(await here.cache.has(key)).toBe(false);
    expect(await here.cache.getOrSet(key, async () => 'second')).toBe('second');
  });

  it('lets only the owner of the lease store, when another one has taken over', async () => {
    const gated = new GatedFactory<string>();
    const slow = here.cache.getOrSet(key, gated.make);
    await eventually(() => gated.runs === 1);
    await redis().del(leaseKey());
    const other = there.cache.getOrSet(key, gated.make);
    await eventually(() => gated.runs === 2);
    gated.open(1, 'former owner');
    expect(await slow).toBe('former owner');
    expect(await here.cache.has(key)).toBe(false);
    gated.open(2, 'owner');
    expect(await other).toBe('owner');
    expect(await here.cache.get(key)).toBe('owner');
  });

  it('renews the lease while the factory runs, but no longer than maxHold', async () => {
    const gated = new GatedFactory<string>();
    const held = here.cache.getOrSet(key, gated.make, { lease: 600 });
    await eventually(() => gated.runs === 1);
    const token = await redis().get(leaseKey());
    const startedAt = performance.now();
    await eventually(async () => {
      expect(await redis().get(leaseKey())).toBe(token);
      expect(performance.now() - startedAt).toBeGreaterThan(1500);
    });
    gated.open(1, 'long');
    expect(await held).toBe('long');
    expect(await here.cache.get(key)).toBe('long');

    await here.cache.evict(key);
    const tooLong = here.cache.getOrSet(key, gated.make, { lease: 600, maxHold: 700 });
    await eventually(() => gated.runs === 2);
    await eventually(async () => expect(await redis().exists(leaseKey())).toBe(0));
    gated.open(2, 'too long');
    expect(await tooLong).toBe('too long');
    expect(await here.cache.has(key)).toBe(false);
  });

  it('waits for another loader no longer than `wait`, then loads without storing', async () => {
    await redis().set(leaseKey(), 'somebody-else', 'PX', 60_000);
    const startedAt = performance.now();
    expect(await here.cache.getOrSet(key, async () => 'own', { wait: 300 })).toBe('own');
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(295);
    expect(performance.now() - startedAt).toBeLessThan(2_000);
    expect(await here.cache.has(key)).toBe(false);
    expect(await redis().get(leaseKey())).toBe('somebody-else');
  });

  it('takes over when the lease of a dead owner runs out', async () => {
    await redis().set(leaseKey(), 'dead', 'PX', 300);
    expect(await here.cache.getOrSet(key, async () => 'own')).toBe('own');
    expect(await here.cache.get(key)).toBe('own');
  });

  it('stores nothing during the quarantine of an eviction', async () => {
    await here.cache.evict(key, { quarantine: '400ms' });
    expect(await there.cache.getOrSet(key, async () => 'from a lagging replica')).toBe('from a lagging replica');
    expect(await there.cache.has(key)).toBe(false);
    await eventually(async () => {
      await there.cache.getOrSet(key, async () => 'late');
      expect(await there.cache.has(key)).toBe(true);
    });
  });

  it('lets one caller give up, and aborts the factory when no caller is left', async () => {
    const gated = new GatedFactory<string>();
    const signals: AbortSignal[] = [];
    const factory = ({ signal }: { signal: AbortSignal }) => {
      signals.push(signal);
      return gated.make();
    };
    const [one, two] = [new AbortController(), new AbortController()];
    const first = here.cache.getOrSet(key, factory, { signal: one.signal });
    await eventually(() => gated.runs === 1);
    const second = here.cache.getOrSet(key, factory, { signal: two.signal });
    await asked(here);
    one.abort(new Error('first gave up'));
    await expect(first).rejects.toThrow('first gave up');
    expect(signals[0]?.aborted).toBe(false);
    two.abort(new Error('second gave up'));
    await expect(second).rejects.toThrow('second gave up');
    expect(signals[0]?.aborted).toBe(true);
    const next = here.cache.getOrSet(key, factory);
    gated.open(1, 'nobody waits');
    expect(await next).toBe('nobody waits');
  });

  it('waits at the end of the application for loads that run', async () => {
    const gated = new GatedFactory<string>();
    const running = here.cache.getOrSet(key, gated.make);
    await eventually(() => gated.runs === 1);
    const closing = here.cache.close();
    gated.open(1, 'last');
    await closing;
    expect(await running).toBe('last');
    expect(await there.cache.get(key)).toBe('last');
  });

  /** Waits until a call that has begun before has asked Redis for the entry and, if it is missing, for the lease. */
  async function asked({ cache }: TestCache): Promise<void> {
    // Replies come in the order of the commands: the first one after its read, the second after what it asked then.
    await cache.has(key);
    await cache.has(key);
  }

  /** Names of the commands that one engine sends meanwhile, in order. */
  async function recorded(work: () => Promise<void>): Promise<string[]> {
    const names: string[] = [];
    const client = here.engine.connection.client;
    const nodes = 'nodes' in client ? client.nodes('master') : [client];
    // The scripts are known to every server, so that EVALSHA does not become two commands.
    await here.cache.getOrSet([...key, 'warm'], async () => 1);
    for (const node of nodes) {
      const send = node.sendCommand.bind(node);
      node.sendCommand = (command, ...rest) => {
        names.push(command.name);
        return send(command, ...rest);
      };
    }
    await work();
    return names;
  }
});
