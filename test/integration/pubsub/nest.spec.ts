import {
  Injectable,
  Module,
  UseFilters,
  UseGuards,
  UsePipes,
  type CanActivate,
  type ArgumentsHost,
  type ExceptionFilter,
  type ExecutionContext,
  type ModuleMetadata,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
  type PipeTransform,
} from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { firstValueFrom, take, toArray } from 'rxjs';
import {
  MessageBody,
  MessageContext,
  OnSubscriptionGap,
  PubSubService,
  RedisPatternsModule,
  Subscribe,
  type PubSubContext,
  type RedisPatternsOptions,
  type SubscriptionGap,
} from 'nestjs-redis-patterns';
import { eventually } from '../../support/eventually.js';
import { describeOn, describeOnEachTopology, type SharedTopology } from '../../support/topologies.js';
import { gate } from '../stream/test-streams.js';
import { killSubscribers } from './test-pubsub.js';

const quiet = (): void => undefined;
const lines: string[] = [];
const logger = {
  log: quiet,
  error: (...parts: unknown[]) => void lines.push(parts.map(String).join(' ')),
  warn: (...parts: unknown[]) => void lines.push(parts.map(String).join(' ')),
};

const opened: TestingModule[] = [];
beforeEach(() => void lines.splice(0));
afterEach(async () => {
  await Promise.all(opened.splice(0).map((each) => each.close()));
});

async function boot(
  { connection, namespace }: SharedTopology,
  parts: ModuleMetadata,
  options: Partial<RedisPatternsOptions> = {},
): Promise<TestingModule> {
  const root = RedisPatternsModule.forRoot({ connection, namespace, ...options });
  const app = await Test.createTestingModule({ ...parts, imports: [root, ...(parts.imports ?? [])] })
    .setLogger(logger)
    .compile();
  opened.push(app);
  await app.init();
  return app;
}

describeOnEachTopology('@Subscribe', { user: 'pubsub' }, (topology) => {
  it('has methods handle channels and patterns from the start of the application on, and tells one of gaps', async () => {
    @Injectable()
    class Stock {
      readonly seen: unknown[] = [];
      @Subscribe('stock:1')
      @Subscribe('stock:2')
      one(amount: number, { channel }: PubSubContext): void {
        this.seen.push([channel, amount]);
      }
      @Subscribe({ pattern: 'stock:*' })
      all(@MessageBody('amount') amount: unknown, @MessageContext() context: PubSubContext): void {
        this.seen.push([context.pattern, amount]);
      }
      @OnSubscriptionGap('stock:1')
      async gap({ reason, subscription }: SubscriptionGap): Promise<void> {
        await Promise.resolve();
        this.seen.push([reason, subscription]);
      }
    }
    const app = await boot(topology, { providers: [Stock] });
    const pubsub = app.get(PubSubService);
    const { seen } = app.get(Stock);
    await pubsub.publish('stock:1', 5);
    await pubsub.publish(['stock', 2], { amount: 6 });
    await eventually(() => expect(seen).toHaveLength(4));
    expect(seen).toEqual(
      expect.arrayContaining([
        ['stock:1', 5],
        ['stock:2', { amount: 6 }],
        ['stock:*', undefined],
        ['stock:*', 6],
      ]),
    );
    seen.length = 0;
    expect(await killSubscribers(topology.nodes, topology.namespace)).toBe(1);
    await eventually(async () => {
      await pubsub.publish('stock:1', 7);
      expect(seen).toContainEqual(['stock:1', 7]);
    });
    expect(seen.filter((each) => !String(each).startsWith('stock'))).toEqual([['disconnected', 'Stock.one']]);
  });
});

describeOn('standalone', '@Subscribe and Nest', { user: 'pubsub' }, (topology) => {
  it('applies guards, pipes and filters, and logs what nobody catches', async () => {
    const trail: unknown[] = [];
    class Guard implements CanActivate {
      canActivate(context: ExecutionContext): boolean {
        trail.push(context.getType());
        return context.getArgs<[{ refuse?: boolean }]>()[0].refuse !== true;
      }
    }
    class Pipe implements PipeTransform {
      transform = (value: object, { type }: { type: string }): unknown =>
        type === 'body' ? { ...value, piped: 1 } : value;
    }
    class Filter implements ExceptionFilter {
      catch(error: Error, host: ArgumentsHost): void {
        trail.push(`${host.getType<string>()} ${error.message}`);
      }
    }
    @Injectable()
    class Handlers {
      @UseGuards(Guard)
      @UsePipes(Pipe)
      @UseFilters(Filter)
      @Subscribe('guarded')
      guarded(@MessageBody() body: object): void {
        trail.push(body);
      }
      @Subscribe('failing')
      failing(): never {
        throw new Error('on purpose');
      }
    }
    const pubsub = (await boot(topology, { providers: [Handlers] })).get(PubSubService);
    await pubsub.publish('guarded', { id: 1 });
    await pubsub.publish('guarded', { refuse: true });
    await eventually(() =>
      expect(trail).toEqual(['pubsub', { id: 1, piped: 1 }, 'pubsub', 'pubsub Forbidden resource']),
    );
    await pubsub.publish('failing', 1);
    await eventually(() => expect(lines.join('\n')).toMatch(/Handlers\.failing failed on a message/));
  });

  it('warns of a channel that looks like a pattern', async () => {
    @Injectable()
    class Handlers {
      @Subscribe('stock:*')
      one(): void {}
      @Subscribe({ pattern: 'stock:*' })
      all(): void {}
      @Subscribe(['stock', '*'])
      part(): void {}
    }
    await boot(topology, { providers: [Handlers] });
    const warnings = lines.filter((line) => line.includes('stock'));
    expect(warnings).toEqual([
      expect.stringMatching(/Handlers\.one listens to the one channel.*write \{ pattern: 'stock:\*' \}/),
    ]);
  });

  it('begins after its host has booted, and ends what has come before its host is destroyed', async () => {
    const hold = gate();
    @Injectable()
    class Host implements OnApplicationBootstrap, OnModuleDestroy {
      readonly trail: unknown[] = [];
      async onApplicationBootstrap(): Promise<void> {
        await Promise.resolve();
        this.trail.push('booted');
      }
      onModuleDestroy(): void {
        this.trail.push('destroyed');
      }
      @Subscribe('life')
      async handle(n: number): Promise<void> {
        await hold.opened;
        this.trail.push(n);
      }
      readonly came: number[] = [];
      @Subscribe('life')
      note(n: number): void {
        this.came.push(n);
      }
    }
    @Module({ providers: [Host] })
    class Feature {}
    const app = await boot(topology, { imports: [Feature] });
    const pubsub = app.get(PubSubService);
    const { trail, came } = app.get(Host);
    for (const n of [1, 2]) await pubsub.publish('life', n);
    await eventually(() => expect(came).toEqual([1, 2]));
    const closing = app.close();
    hold.open();
    await closing;
    expect(trail).toEqual(['booted', 1, 2, 'destroyed']);
  });

  it('names the method whose options cannot be', async () => {
    @Injectable()
    class Wrong {
      @Subscribe({ pattern: 'a:*' }, { delivery: 'reliable' })
      pattern(): void {}
    }
    @Injectable()
    class Nameless {
      @OnSubscriptionGap('')
      gap(): void {}
    }
    await expect(boot(topology, { providers: [Wrong] })).rejects.toThrow(/Wrong\.pattern[\s\S]*delivery/);
    await expect(boot(topology, { providers: [Nameless] })).rejects.toThrow(/Nameless\.gap/);
    expect(() => Subscribe('x')({}, Symbol('s'), { value: () => undefined })).toThrow(/@Subscribe/);
  });

  it('is an Observable for those who want one: it begins and ends with its observers', async () => {
    const app = await boot(topology, {});
    const pubsub = app.get(PubSubService);
    const begun = gate();
    const two = firstValueFrom(pubsub.observe<number>('seen').pipe(take(2), toArray()));
    const withChannel = firstValueFrom(
      pubsub.observe({ pattern: 'stock:*' }, { map: (payload, { channel }) => [channel, payload] }),
    );
    const counts = async (): Promise<unknown[]> =>
      topology.admin.client.pubsub('NUMSUB', `${topology.namespace}:pubsub:seen`);
    await eventually(async () => expect((await counts())[1]).toBe(1));
    await eventually(async () => expect(await topology.admin.client.pubsub('NUMPAT')).toBeGreaterThan(0));
    for (const n of [1, 2]) await pubsub.publish('seen', n);
    await pubsub.publish('stock:9', 3);
    expect(await two).toEqual([1, 2]);
    expect(await withChannel).toEqual(['stock:9', 3]);
    await eventually(async () => expect((await counts())[1]).toBe(0));
    pubsub.observe('seen').subscribe({ complete: () => begun.open() });
    await eventually(async () => expect((await counts())[1]).toBe(1));
    await app.close();
    await begun.opened;
  });
});
