import { afterEach, describe, expect, it } from '@jest/globals';
import { forwardRef, Inject, Injectable, Module, Scope, type ModuleMetadata } from '@nestjs/common';
import { NestFactory, SerializedGraph } from '@nestjs/core';
import { Test, type TestingModule } from '@nestjs/testing';
import { Recorder, Traced, TracedModule } from '../../../../../test/support/traced-pattern.js';
import { PATTERNS_RUNTIME } from './runtime-slot.js';
import { PatternsRuntime } from './runtime.js';

@Injectable()
class Plain {
  @Traced()
  async load(id: number): Promise<string> {
    return `loaded ${id}`;
  }
}

describe('a decorated object', () => {
  const opened: TestingModule[] = [];
  afterEach(async () => {
    for (const moduleRef of opened.splice(0)) await moduleRef.close();
  });

  async function boot(metadata: ModuleMetadata, app = 'app'): Promise<TestingModule> {
    const imports = [TracedModule.forRoot({ app }), ...(metadata.imports ?? [])];
    const moduleRef = await Test.createTestingModule({ ...metadata, imports }).compile();
    opened.push(moduleRef);
    return moduleRef.init();
  }

  const eventsOf = (moduleRef: TestingModule): string[] => moduleRef.get(Recorder).events;

  it('uses an engine, or a runtime, that a test overrides', async () => {
    const fake = new Recorder('fake');
    const builder = (): ReturnType<typeof Test.createTestingModule> =>
      Test.createTestingModule({ imports: [TracedModule.forRoot()], providers: [Plain] });
    const byEngine = await builder().overrideProvider(Recorder).useValue(fake).compile();
    await byEngine.get(Plain).load(1);
    const runtime = new PatternsRuntime(new Map([[Recorder, fake]]));
    const byRuntime = await builder().overrideProvider(PATTERNS_RUNTIME).useValue(runtime).compile();
    opened.push(await byEngine.init(), await byRuntime.init());
    await byRuntime.get(Plain).load(2);
    expect(fake.events.filter((event) => event.includes('before'))).toEqual([
      'Plain.load before(1)',
      'Plain.load before(2)',
    ]);
    expect(eventsOf(byRuntime)).toEqual([]);
  });

  it('says so when a test replaces the runtime by an automatic mock', async () => {
    const moduleRef = await Test.createTestingModule({ providers: [Plain] })
      .useMocker(() => ({ engine: () => ({}) }))
      .compile();
    opened.push(moduleRef);
    await expect(moduleRef.get(Plain).load(1)).rejects.toThrow(/Plain\.load .*not a PatternsRuntime.*automatic mock/);
  });

  it('works on the values of useFactory and useValue providers, also transient ones and frozen ones', async () => {
    const moduleRef = await boot({
      providers: [
        { provide: 'made', useFactory: async () => new Plain() },
        { provide: 'value', useValue: new Plain() },
        { provide: 'frozen', useValue: Object.freeze(new Plain()) },
        { provide: 'transient', scope: Scope.TRANSIENT, useFactory: () => new Plain() },
        { provide: 'user', inject: ['transient'], useFactory: (plain: Plain) => ({ plain }) },
        { provide: 'alias', useExisting: 'made' },
      ],
    });
    for (const token of ['made', 'value', 'frozen', 'alias']) {
      await expect(moduleRef.get<Plain>(token).load(1)).resolves.toBe('loaded 1');
    }
    await expect(moduleRef.get<{ plain: Plain }>('user').plain.load(2)).resolves.toBe('loaded 2');
    expect(eventsOf(moduleRef)).toHaveLength(10);
  });

  it('works on an instance that freezes itself in its constructor', async () => {
    @Injectable()
    class Frozen extends Plain {
      constructor() {
        super();
        Object.freeze(this);
      }
    }
    const moduleRef = await boot({ providers: [Frozen] });
    await expect(moduleRef.get(Frozen).load(1)).resolves.toBe('loaded 1');
    expect(eventsOf(moduleRef)).toHaveLength(2);
  });

  it('works through the proxies that tracing tools put around an instance, and around bound objects', async () => {
    const moduleRef = await boot({ providers: [Plain] });
    const proxied = new Proxy(moduleRef.get(Plain), {
      get: (target, key) => Reflect.get(target, key, target) as unknown,
    });
    const transparent = new Proxy(moduleRef.get(Plain), {});
    const derived = Object.create(moduleRef.get(Plain)) as Plain;
    await Promise.all([proxied.load(1), transparent.load(2), derived.load(3)]);
    expect(eventsOf(moduleRef).filter((event) => event.startsWith('Plain.load before'))).toHaveLength(3);
  });

  it('works when every instance is instrumented, and in a snapshot of the dependency graph', async () => {
    @Module({ imports: [TracedModule.forRoot()], providers: [Plain] })
    class App {}
    const instanceDecorator = (instance: unknown): unknown =>
      instance instanceof Plain
        ? new Proxy(instance, { get: (target, key) => Reflect.get(target, key) as unknown })
        : instance;
    const app = await NestFactory.createApplicationContext(App, {
      logger: false,
      abortOnError: false,
      snapshot: true,
      instrument: { instanceDecorator },
    });
    await expect(app.get(Plain).load(1)).resolves.toBe('loaded 1');
    expect(app.get(Recorder).events).toHaveLength(2);
    expect(app.get(SerializedGraph).toString()).toContain('Plain');
    await app.close();
  });

  it('leaves nothing on the instance that is enumerated or serialised', async () => {
    const moduleRef = await boot({ providers: [Plain] });
    const plain = moduleRef.get(Plain);
    expect(Reflect.ownKeys(Object.assign({}, plain))).toEqual([]);
    expect(JSON.stringify(plain)).toBe('{}');
  });

  it('works between providers that depend on each other', async () => {
    @Injectable()
    class Left {
      constructor(@Inject(forwardRef(() => Right)) private readonly right: { pull(): Promise<string> }) {}
      @Traced()
      async push(): Promise<string> {
        return `left(${await this.right.pull()})`;
      }
    }
    @Injectable()
    class Right {
      constructor(@Inject(forwardRef(() => Left)) readonly left: object) {}
      @Traced()
      async pull(): Promise<string> {
        return 'right';
      }
    }
    const moduleRef = await boot({ providers: [Left, Right] });
    await expect(moduleRef.get(Left).push()).resolves.toBe('left(right)');
    expect(moduleRef.get(Recorder).calls).toHaveLength(2);
  });
});
