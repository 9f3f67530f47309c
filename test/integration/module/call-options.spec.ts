import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import {
  CounterService,
  defineStream,
  FeedService,
  InvalidOptionsError,
  LeaderboardService,
  PubSubService,
  RedisPatternsModule,
  RetryMessageError,
  SessionService,
  StreamAdmin,
  StreamProducer,
  UniqueCounterService,
} from 'nestjs-redis-patterns';
import { describeOn } from '../../support/topologies.js';

const DAY = { bucket: 'day' } as const;

// What a call is given is looked at before Redis is asked.
describeOn('standalone', 'calls with options that cannot be meant', (topology) => {
  let app: INestApplicationContext;
  beforeAll(async () => {
    const { namespace, connection } = topology;
    const module = RedisPatternsModule.forRoot({ namespace, connection });
    app = await NestFactory.createApplicationContext(module, { logger: false });
  });
  afterAll(() => app.close());

  const admin = (): StreamAdmin => app.get(StreamAdmin);
  const letters = () => admin().deadLetters('s', 'g');
  const board = () => app.get(LeaderboardService).board('b', DAY);
  const counter = () => app.get(CounterService).counter('c', DAY);
  const unique = () => app.get(UniqueCounterService).counter('u', DAY);
  const feed = () => app.get(FeedService).feed('f');
  const sessions = (): SessionService => app.get(SessionService);

  /** As plain JavaScript may write it. */
  const given = (options: unknown): never => options as never;
  const cases: [message: RegExp, call: () => unknown][] = [
    [/deadLetters\(\)\.list.*\n.*limit: must be at least 1/, () => letters().list({ limit: -1 })],
    [/limit: must be a number, not a string/, () => letters().list({ limit: given('10') })],
    [/before: must be an entry id such as/, () => letters().list({ before: 'yesterday' })],
    // Without a name that is known it would be all of them.
    [/purge.*\n.*id: unknown option; known are ids/, () => letters().purge(given({ id: ['1-0'] }))],
    [/replay.*\n.*ids\[1\]: must be an entry id/, () => letters().replay({ ids: ['1-0', 'all'] })],
    [/StreamAdmin\.pause.*\n.*for: must be at least 1ms/, () => admin().pause('s', 'g', { for: 0 })],
    [/form: unknown option; did you mean 'from'\?/, () => admin().replay('s', 'g', given({ form: '1-0' }))],
    [/from: must be an entry id such as.*, or a Date/, () => admin().replay('s', 'g', { from: new Date(NaN) })],
    [/limit: must be at least 0/, () => admin().replay('s', 'g', { limit: -1 })],
    [/maxLen: must be a whole number/, () => admin().trim('s', { maxLen: 1.5 })],
    [/maxAge: must be at least 1ms/, () => admin().trim('s', { maxAge: 0 })],
    [/maxlen: unknown option; did you mean 'maxLen'\?/, () => admin().trim('s', given({ maxlen: 5 }))],
    [/stream 's'.*\n.*group: must be the name of a group/, () => admin().lag('s', given(undefined))],
    [/group: must be the name of a group/, () => admin().pending('s', '')],
    [/StreamAdmin\.lane.*\n.*key: must be a key/, () => admin().lane('s', 'g', '')],
    [/retension: unknown option; did you mean 'retention'/, () => defineStream(given({ name: 's', retension: {} }))],
    [/must be an object/, () => app.get(StreamProducer).publish('s', 1, given('placed'))],
    [
      /timeOut: unknown/,
      () => app.get(StreamProducer).publish('s', 1, { replicaAck: given({ replicas: 1, timeOut: 1 }) }),
    ],
    [/cancel.*\n.*id: must be what publish/, () => app.get(StreamProducer).cancel('s', given(7))],
    [/RetryMessageError.*\n.*delay: 'soon' is not/, () => new RetryMessageError({ delay: given('soon') })],
    [
      /submit\(\).*\n.*opID: unknown option; did you mean 'opId'/,
      () => board().submit('m', 1, {}, given({ opID: 'o' })),
    ],
    [
      /submitMany\(\).*\n.*on: unknown/,
      () => board().submitMany([{ member: 'm', score: 1 }], given({ on: '2026-11-30' })),
    ],
    [/limit: unknown option; known are offset, size, at/, () => board().page(given({ limit: 5 }))],
    [/around\(\).*\n.*count: unknown/, () => board().around('m', given({ count: 5 }))],
    [/clear\(\).*\n.*bucket: unknown/, () => board().clear(given({ bucket: '2026-11-30' }))],
    [/Counter.*\n.*opid: unknown option; did you mean 'opId'/, () => counter().incr(1, given({ opid: 'o' }))],
    [/Counter.*\n.*day: unknown/, () => counter().clear(given({ day: '2026-11-30' }))],
    [/until: unknown/, () => counter().range(given({ from: '2026-11-30', until: '2026-11-30' }))],
    [/UniqueCounter.*\n.*day: unknown/, () => unique().addMany(['i'], given({ day: '2026-11-30' }))],
    [/Feed\.push\(\).*\n.*ID: unknown option; did you mean 'id'/, () => feed().push('item', given({ ID: 'x' }))],
    [/Feed\.page\(\).*\n.*limit: unknown/, () => feed().page(given({ limit: 5 }))],
    [/removeIf\(\).*\n.*matches: must be a function/, () => feed().removeIf(given(undefined))],
    [
      /fanOut\(\).*\n.*signal: must be/,
      () => app.get(FeedService).fanOut(['f'], 1, { signal: given(new AbortController()) }),
    ],
    [/get\(\).*\n.*touch: must be true or false/, () => sessions().get('id', { touch: given('no') })],
    [/update\(\).*\n.*ifversion: unknown/, () => sessions().update('id', {}, given({ ifversion: 1 }))],
    // The session that is to stay would end with the others.
    [/exept: unknown option; did you mean 'except'/, () => sessions().destroyAllOf('p', given({ exept: 'id' }))],
    [/watchGaps\(\).*\n.*listener: must be a function/, () => app.get(PubSubService).watchGaps('c', given(undefined))],
    [/observe\(\).*\n.*map: must be a function/, () => app.get(PubSubService).observe('c', { map: given(1) })],
  ];

  it.each(cases)('say so: %s', async (message, call) => {
    const failure: unknown = await (async () => call())().catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(InvalidOptionsError);
    expect((failure as Error).message).toMatch(message);
  });

  it('are those that name something else, not those that name nothing', async () => {
    expect(await admin().trim('s', {})).toBe(0);
    expect(await letters().purge({ ids: [] })).toBe(0);
    expect(await counter().get({})).toBe(0);
    expect(await sessions().destroyAllOf('p', { except: undefined })).toBe(0);
  });
});
