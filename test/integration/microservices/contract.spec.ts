import { afterEach, describe, expect, it } from '@jest/globals';
import { Controller, Module, type INestMicroservice } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Ctx, EventPattern, MessagePattern, Payload, Transport } from '@nestjs/microservices';
import type { Redis } from 'ioredis';
import { firstValueFrom, lastValueFrom, NEVER, of, toArray, type Observable } from 'rxjs';
import {
  REDIS_STREAMS,
  RedisStreamsClient,
  RedisStreamsRecord,
  RedisStreamsRecordBuilder,
  RedisStreamsServer,
  type RedisStreamsClientOptions,
  type RedisStreamsContext,
  type RedisStreamsPacket,
  type RedisStreamsRecordOptions,
  type RedisStreamsReply,
  type RedisStreamsServerOptions,
} from '../../../libs/redis-patterns/src/microservices/index.js';
import { eventually } from '../../support/eventually.js';
import { uniqueNamespace, useOwn } from '../../support/topologies.js';

const heard: unknown[] = [];

@Controller()
class Service {
  @EventPattern('event')
  onEvent(@Payload() data: unknown, @Ctx() context: unknown): void {
    heard.push(['event', data, (context as RedisStreamsContext).getMetadata()]);
  }
  @EventPattern('event', Transport.KAFKA)
  ofAnother(@Payload() _data: unknown): void {
    heard.push('of another transport');
  }
  @EventPattern('event', REDIS_STREAMS)
  ofThis(@Payload() _data: unknown): void {
    heard.push('of this transport');
  }
  @EventPattern('keyed')
  keyed(@Payload() data: unknown, @Ctx() context: unknown): void {
    const rpc = context as RedisStreamsContext;
    heard.push([data, rpc.getMessage().key, rpc.getMetadata()]);
  }
  @MessagePattern('twice')
  twice(@Payload() data: unknown, @Ctx() context: RedisStreamsContext): Observable<unknown> {
    heard.push(['twice', context.getMetadata()]);
    return of(data, data);
  }
  @MessagePattern('never')
  never(): Observable<never> {
    heard.push('never');
    return NEVER;
  }
}
@Module({ controllers: [Service] })
class Application {}

// What Nest expects of a transport does not depend on the deployment.
describe('the contract of a transport', () => {
  const own = useOwn('standalone', { user: ['stream', 'pubsub'] });
  const cleanUps: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
    heard.length = 0;
  });

  const shared = (namespace: string) => ({
    namespace,
    connection: { ...own.topology.connection, ...own.topology.users?.app },
  });

  async function serve(namespace: string, options: Partial<RedisStreamsServerOptions> = {}) {
    const strategy = new RedisStreamsServer({ ...shared(namespace), group: 'g', consumer: { block: 200 }, ...options });
    const server: INestMicroservice = await NestFactory.createMicroservice(Application, { logger: false, strategy });
    cleanUps.push(() => server.close());
    return { server, strategy, listen: () => server.listen() };
  }
  function open(namespace: string, options: Partial<RedisStreamsClientOptions> = {}): RedisStreamsClient {
    const client = new RedisStreamsClient({ ...shared(namespace), ...options });
    cleanUps.push(() => client.close());
    return client;
  }
  const failureOf = (answer: Observable<unknown>): Promise<unknown> =>
    lastValueFrom(answer).catch((error: unknown) => error);

  it('publishes an event once, whether nobody or everybody waits for it, to the handlers of this transport', async () => {
    const namespace = uniqueNamespace();
    const [{ listen }, client] = [await serve(namespace), open(namespace)];
    client.setOnDispatchHook((packet) => void (packet.metadata = { tenant: 'a' }));
    await listen();
    client.emit('event', 1);
    const emitted = client.emit('event', 2);
    await Promise.all([1, 2].map(() => lastValueFrom(emitted, { defaultValue: undefined })));
    await eventually(() => expect(heard).toHaveLength(4));
    expect(heard).toEqual(
      expect.arrayContaining([
        ['event', 1, { tenant: 'a' }],
        ['event', 2, { tenant: 'a' }],
      ]),
    );
    expect(heard.filter((each) => each === 'of this transport')).toHaveLength(2);
  });

  it('passes packets and replies through the serializers and deserializers of both sides', async () => {
    const namespace = uniqueNamespace();
    const { listen } = await serve(namespace, {
      deserializer: {
        deserialize: async (value, options) => {
          const { data, ...packet } = value as RedisStreamsPacket;
          if ((data as { sealed: unknown }).sealed === 'broken') throw new Error('cannot be opened');
          heard.push([packet.id === undefined ? 'event' : 'request', options]);
          return { ...packet, data: (data as { sealed: unknown }).sealed };
        },
      },
      serializer: { serialize: async ({ response, ...reply }: RedisStreamsReply) => ({ ...reply, sealed: response }) },
    });
    const client = open(namespace, {
      serializer: { serialize: async ({ data }) => ({ data: { sealed: data }, metadata: { by: 'client' } }) },
      deserializer: {
        deserialize: async (value) => {
          const { sealed, ...reply } = value as RedisStreamsReply & { sealed: unknown };
          return { ...reply, response: sealed };
        },
      },
    });
    await listen();
    expect(await firstValueFrom(client.send('twice', { n: 1 }).pipe(toArray()))).toEqual([{ n: 1 }, { n: 1 }]);
    expect(heard).toEqual([
      ['request', { channel: 'twice' }],
      ['twice', { by: 'client' }],
    ]);
    expect(await failureOf(client.send('twice', 'broken'))).toMatchObject({ message: 'cannot be opened' });
    await lastValueFrom(client.emit('event', 7), { defaultValue: undefined });
    await eventually(() => expect(heard).toContainEqual(['event', 7, { by: 'client' }]));
  });

  it('publishes what a record says: a key in whose order events run, an id under which they are one, a delay', async () => {
    const namespace = uniqueNamespace();
    const { listen } = await serve(namespace, { consumer: { block: 200, ordering: 'key' } });
    const seen: unknown[] = [];
    const serializer = { serialize: (packet: RedisStreamsPacket) => (seen.push(packet.data), packet) };
    const client = open(namespace, { serializer });
    const emit = (data: unknown, options: RedisStreamsRecordOptions): Promise<unknown> =>
      lastValueFrom(client.emit('keyed', new RedisStreamsRecordBuilder().setData(data).setOptions(options).build()));
    await listen();
    const key = 'k';
    expect(await emit('late', { key, delay: '1h' })).toMatch(/^d-/);
    const first = await emit(1, { key, dedupId: 'one', headers: { tenant: 'a' } });
    expect(await emit('again', { key, dedupId: 'one' })).toBe(first);
    await emit(2, { key });
    await eventually(() => expect(heard).toHaveLength(2));
    expect(heard).toEqual([
      [1, key, { tenant: 'a' }],
      [2, key, undefined],
    ]);
    expect(seen).toEqual(['late', 1, 'again', 2]);
    const request = (options: RedisStreamsRecordOptions) => client.send('twice', new RedisStreamsRecord(7, options));
    expect(await firstValueFrom(request({ key, headers: { tenant: 'b' } }).pipe(toArray()))).toEqual([7, 7]);
    expect(heard.at(-1)).toEqual(['twice', { tenant: 'b' }]);
    expect(await failureOf(request({ dedupId: 'one' }))).toMatchObject({
      message: expect.stringContaining('dedupId: is for emit()'),
    });
    expect(await failureOf(request({ key: 7 as never }))).toMatchObject({
      message: expect.stringContaining('key: must be a text'),
    });
    expect(() => new RedisStreamsRecord(1, { dedupID: 'x' } as never)).toThrow("did you mean 'dedupId'?");
    expect(() => new RedisStreamsRecord(1, { headers: { 'x-reply-to': 'me' } })).toThrow('x-reply-to: is set by');
  });

  it('calls the hooks of instrumentation around each message, once', async () => {
    const namespace = uniqueNamespace();
    const [{ strategy, listen }, client] = [await serve(namespace), open(namespace)];
    strategy.setOnProcessingStartHook((transport, context, done) => {
      heard.push(['start', transport, (context as RedisStreamsContext).getPattern()]);
      void done();
    });
    strategy.setOnProcessingEndHook((_, context) => heard.push(['end', (context as RedisStreamsContext).getPattern()]));
    await listen();
    await firstValueFrom(client.send('twice', 1).pipe(toArray()));
    await eventually(() => expect(heard).toHaveLength(3));
    expect(heard).toEqual([
      ['start', REDIS_STREAMS, 'twice'],
      ['twice', undefined],
      ['end', 'twice'],
    ]);
    heard.length = 0;
    client.emit('event', 1);
    await eventually(() => expect(heard).toHaveLength(4));
    expect([heard[0], heard[3]]).toEqual([
      ['start', REDIS_STREAMS, 'event'],
      ['end', 'event'],
    ]);
  });

  it('tells the state of its connection, and gives its client', async () => {
    const namespace = uniqueNamespace();
    const [{ server, listen }, client] = [await serve(namespace), open(namespace)];
    const states: { server: string[]; client: string[] } = { server: [], client: [] };
    server.status.subscribe((status) => states.server.push(status));
    client.status.subscribe((status) => states.client.push(status));
    client.on('ready', () => heard.push('client ready'));
    server.on('ready', () => heard.push('server ready'));
    await Promise.all([listen(), client.connect()]);
    expect(await Promise.all([server.unwrap<Redis>().ping(), client.unwrap<Redis>().ping()])).toEqual(['PONG', 'PONG']);
    await own.admin.client.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    const both = ['connected', 'reconnecting', 'connected'];
    await eventually(() => expect(states).toEqual({ server: both, client: both }));
    expect(heard.filter((each) => each === 'client ready')).toHaveLength(2);
    expect(heard.filter((each) => each === 'server ready')).toHaveLength(2);
    await Promise.all([server.close(), client.close()]);
    expect([states.server.at(-1), states.client.at(-1)]).toEqual(['disconnected', 'disconnected']);
  });

  it('leaves no request without an answer when the client closes', async () => {
    const namespace = uniqueNamespace();
    const [{ listen }, client] = [await serve(namespace, { stream: { drainTimeout: 1 } }), open(namespace)];
    await listen();
    const answer = failureOf(client.send('never', 1));
    await eventually(() => expect(heard).toEqual(['never']));
    await client.close();
    expect(await answer).toMatchObject({ code: 'ERR_MICROSERVICE_CLOSED', pattern: 'never' });
  });

  it('does not run a request that nobody waits for, and does not ask for the time for each', async () => {
    const namespace = uniqueNamespace();
    const { listen } = await serve(namespace);
    const impatient = open(namespace, { requestTimeout: 50 });
    expect(await failureOf(impatient.send('twice', 'late'))).toMatchObject({ code: 'ERR_MICROSERVICE_TIMEOUT' });
    await listen();
    const client = open(namespace);
    await own.admin.client.config('RESETSTAT');
    for (let n = 0; n < 20; n++) expect(await lastValueFrom(client.send('twice', n))).toBe(n);
    expect(heard).toHaveLength(20);
    const asked = /^cmdstat_time:calls=(\d+)/m.exec(await own.admin.client.info('commandstats'))?.[1] ?? 0;
    // Twice for the one that was late; a busy machine may need ten seconds for the others.
    expect(Number(asked)).toBeLessThan(10);
  });

  it('says which serializer is none', () => {
    const options = { namespace: 'n', connection: 'redis://127.0.0.1:1', group: 'g' };
    expect(() => new RedisStreamsServer({ ...options, deserializer: {} as never })).toThrow(
      /deserializer.*deserialize\(\)/,
    );
    expect(() => new RedisStreamsClient({ ...options, serializer: 'json' as never })).toThrow(
      /serializer.*serialize\(\)/,
    );
  });
});
