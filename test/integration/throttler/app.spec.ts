import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { eventually } from '../../support/eventually.js';
import { describeOn, describeOnEachTopology, startOwn, uniqueNamespace } from '../../support/topologies.js';
import { BuiltApp, buildPrograms, startBuilt, type Answer } from './built-app.js';

type Transcript = Record<string, Answer[]>;

async function times(app: BuiltApp, count: number, url: string, headers?: Record<string, string>): Promise<Answer[]> {
  const answers: Answer[] = [];
  for (let n = 0; n < count; n++) answers.push(await app.get(url, headers));
  return answers;
}

/** What the documentation of @nestjs/throttler promises, step by step. */
async function requestScript(app: BuiltApp): Promise<Transcript> {
  const seen: Transcript = {};
  const note = async (step: string, answers: Promise<Answer[]>) => void (seen[step] = await answers);
  await note('a limit, and the block after it', times(app, 5, '/default/plain'));
  await note('another handler', times(app, 1, '/default/other'));
  await note('@Throttle on a method: the limit only', times(app, 2, '/default/lowered'));
  await note('tracker a', times(app, 4, '/default/tracker', { 'x-user': 'a' }));
  await note('tracker b', times(app, 1, '/default/tracker', { 'x-user': 'b' }));
  await note('one key for two handlers', times(app, 2, '/default/key-1', { 'x-tenant': app.kind }));
  await note('the same key', times(app, 2, '/default/key-2', { 'x-tenant': app.kind }));
  await note('skipIf for all', times(app, 1, '/default/plain', { 'x-internal': 'yes' }));
  await note('ignored user agent', times(app, 1, '/default/plain', { 'user-agent': 'Health-Check/1' }));
  await note('a limit by function', times(app, 3, '/named/resolved', { 'x-limit': '2' }));
  await note('skipped class', times(app, 4, '/skipped/free'));
  await note('method of a skipped class', times(app, 4, '/skipped/limited'));
  await note('a guard on a controller of another module', times(app, 5, '/by-itself'));
  await note('a block of its own', times(app, 4, '/default/block'));
  await note('no block', times(app, 3, '/default/no-block'));
  const waits = ['a block of its own', 'no block'].map((step) => seen[step]!.at(-1)!.headers['retry-after']!);
  await new Promise((resolve) => setTimeout(resolve, Math.max(...waits) * 1000));
  await note('after the block', times(app, 1, '/default/block'));
  await note('after the oldest hit', times(app, 1, '/default/no-block'));
  return seen;
}

const isTime = ([name]: [string, number]): boolean => /reset|retry/.test(name);

/** The same answers; seconds may be apart by what separates two processes. */
function expectAlike(actual: Transcript, expected: Transcript): void {
  const exact = (transcript: Transcript) =>
    Object.entries(transcript).map(([step, answers]) => [
      step,
      answers.map(({ headers, ...rest }) => ({
        ...rest,
        // The atomic guard sets the plain `Retry-After` beside those of limits with a name.
        names: Object.keys(headers)
          .filter((name, _, all) => !all.includes(`${name}-resolved`))
          .toSorted(),
        counts: Object.entries(headers).filter((each) => !isTime(each)),
      })),
    ]);
  expect(exact(actual)).toEqual(exact(expected));
  for (const [step, answers] of Object.entries(expected)) {
    answers.forEach(({ headers }, index) => {
      for (const [name, seconds] of Object.entries(headers).filter(isTime)) {
        // In memory, `Reset` goes on with a window that the block has ended.
        const apart = step === 'after the block' ? 5 : 2;
        const label = `${step}, answer ${index + 1}, ${name}`;
        expect([label, Math.abs(actual[step]![index]!.headers[name]! - seconds) <= apart]).toEqual([label, true]);
      }
    });
  }
}

let memory: BuiltApp;
let inMemory: Transcript;

beforeAll(async () => {
  await buildPrograms();
  memory = await BuiltApp.start('memory');
  inMemory = await requestScript(memory);
}, 240_000);
afterAll(() => memory?.stop());

it('keeps, in memory, the promises that the others are compared with', () => {
  const plain = inMemory['a limit, and the block after it']!;
  expect(plain.map(({ status }) => status)).toEqual([200, 200, 200, 429, 429]);
  expect(plain[0]!.headers).toMatchObject({ 'x-ratelimit-limit': 3, 'x-ratelimit-remaining': 2 });
  expect(plain[3]!.headers['retry-after']).toBeGreaterThan(55);
  for (const step of ['skipIf for all', 'ignored user agent']) {
    expect(inMemory[step]![0]).toMatchObject({ status: 200, headers: {} });
  }
  for (const step of ['after the block', 'after the oldest hit']) expect(inMemory[step]![0]!.status).toBe(200);
});

describeOnEachTopology('an application on @nestjs/throttler', { user: 'rateLimit' }, (topology) => {
  let redis: BuiltApp;
  let atomic: BuiltApp;

  beforeAll(async () => {
    const { namespace, connection } = topology;
    const start = (kind: BuiltApp['kind']): Promise<BuiltApp> =>
      BuiltApp.start(kind, { namespace, connection, rateLimit: { deadline: '5s' } });
    [redis, atomic] = await Promise.all([start('redis'), start('atomic')]);
  }, 90_000);
  afterAll(async () => {
    const printed = await Promise.all([redis, atomic].map((app) => app?.stop()));
    expect(printed.join('')).not.toMatch(/ERROR|Unhandled/);
  });

  it('answers as with the counts in memory, after a change of one line', async () => {
    const [plainly, atomically] = await Promise.all([redis, atomic].map(requestScript));
    expectAlike(plainly!, inMemory);
    expectAlike(atomically!, inMemory);
  });

  it('is counted together with other processes', async () => {
    const calls = Array.from({ length: 8 }, (_, n) =>
      [redis, atomic][n % 2]!.get('/default/key-1', { 'x-tenant': 'both' }),
    );
    const passed = (await Promise.all(calls)).filter(({ status }) => status === 200);
    expect(passed.map(({ headers }) => headers['x-ratelimit-remaining']).toSorted((a, b) => a! - b!)).toEqual([
      0, 1, 2,
    ]);
    const refused = await Promise.all([redis, atomic].map((app) => app.get('/default/key-2', { 'x-tenant': 'both' })));
    expect(refused.map(({ status }) => status)).toEqual([429, 429]);
  });

  it('the atomic guard counts a request for all limits or for none, and tells the longest wait', async () => {
    const answers = await times(atomic, 6, '/named/two');
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429, 429, 429, 429]);
    expect(answers[0]!.headers).toMatchObject({ 'x-ratelimit-remaining-short': 3, 'x-ratelimit-remaining-long': 1 });
    const { headers, body } = answers[5]!;
    // ThrottlerGuard would have counted all of them for `short`, and blocked it.
    expect(headers).toMatchObject({ 'x-ratelimit-remaining-short': 2, 'x-ratelimit-limit-short': 4 });
    expect(headers['retry-after']).toBe(headers['retry-after-long']);
    expect(headers['retry-after']).toBeGreaterThan(280);
    expect(body).toContain('3 of 2, blocked: true');
    // One tag: both are in one script.
    for (const name of ['short', 'long']) {
      const key = `${topology.namespace}:ratelimit:throttler~${name}:{NamedController-two-127.0.0.1}`;
      expect(await topology.admin.client.exists(key)).toBe(1);
    }
    const apart = await times(atomic, 4, '/named/apart');
    expect(apart.map(({ status }) => status)).toEqual([200, 200, 429, 429]);
    expect(apart[3]!.headers).toMatchObject({ 'x-ratelimit-remaining-short': 2 });
    const sequential = await times(redis, 5, '/named/two');
    expect(sequential[4]!.headers).toHaveProperty('retry-after-short');
    expect(sequential[4]!.headers).not.toHaveProperty('retry-after');
  });

  it('the atomic guard waits for an asynchronous skipIf', async () => {
    expect((await times(atomic, 2, '/named/slow')).map(({ status }) => status)).toEqual([200, 429]);
    expect((await atomic.get('/named/slow', { 'x-skip': 'yes' })).status).toBe(200);
    // The promise is true to ThrottlerGuard: no limit at all.
    expect((await times(redis, 3, '/named/slow')).map(({ status }) => status)).toEqual([200, 200, 200]);
  });
});

it('an outage is 503 in time where it is closed, and never 429', async () => {
  const own = await startOwn('standalone', { user: 'rateLimit' });
  const apps: BuiltApp[] = [];
  const start = async (kind: BuiltApp['kind'], onStoreError?: 'closed'): Promise<BuiltApp> => {
    const rateLimit = { deadline: 200, ...(onStoreError && { onStoreError }) };
    const app = await BuiltApp.start(kind, { namespace: uniqueNamespace(), connection: own.connection, rateLimit });
    apps.push(app);
    await eventually(async () => expect((await app.get('/named/two')).status).toBe(200), { timeout: 15_000 });
    return app;
  };
  try {
    const [closed, local] = await Promise.all([start('atomic', 'closed'), start('redis')]);
    own.freeze(own.nodes[0]!);
    const startedAt = performance.now();
    const { status, headers } = await closed.get('/default/other');
    expect(performance.now() - startedAt).toBeLessThan(1500);
    expect([status, headers['retry-after']]).toEqual([503, 1]);
    // Counted in the process instead: its client is above the limit there.
    const answers = await times(local, 4, '/default/other');
    expect(answers.map((each) => each.status)).toEqual([200, 200, 200, 429]);
    own.resume(own.nodes[0]!);
    await eventually(async () => expect((await closed.get('/default/plain')).status).toBe(200));
  } finally {
    await Promise.all(apps.map((app) => app.stop()));
    await own.stop();
  }
}, 120_000);

describeOn('standalone', 'applications that are put together wrongly', (topology) => {
  it('say so when they start, with the remedy', async () => {
    const program = startBuilt('misuse', { redis: { namespace: topology.namespace, connection: topology.connection } });
    const { said } = await program.next('said', { timeout: 30_000 });
    await program.exited();
    expect(said).toEqual({
      'nothing wrong': 'nothing',
      'no RedisPatternsModule': expect.stringContaining(
        'import RedisPatternsModule.forRoot() or forRootAsync()',
      ) as unknown,
      'a storage of its own': expect.stringContaining(
        'storage: is given, but RedisThrottlerModule brings its own',
      ) as unknown,
      'the atomic guard on memory': expect.stringContaining('register RedisThrottlerModule in place of') as unknown,
      'one name twice': expect.stringContaining("throttlers: two are named 'default'") as unknown,
      'a connection that is not there': expect.stringContaining('rateLimit.connection: is needed') as unknown,
    });
  });
});
