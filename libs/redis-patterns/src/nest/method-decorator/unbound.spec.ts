import { afterEach, describe, expect, it } from '@jest/globals';
import { Injectable, Module, type LoggerService, type ModuleMetadata } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { Recorder, Traced, TracedModule } from '../../../../../test/support/traced-pattern.js';
import { NotBoundError } from '../../core/errors.js';
import { PATTERNS_RUNTIME } from './runtime-slot.js';
import { PatternsRuntime } from './runtime.js';

const silent: LoggerService = { log: () => undefined, warn: () => undefined, error: () => undefined };

@Injectable()
class Plain {
  @Traced()
  async load(id: number): Promise<string> {
    return `loaded ${id}`;
  }
}

describe('a decorated method', () => {
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

  describe('that cannot reach RedisPatternsModule', () => {
    const remedies = /Plain\.load with @Traced .*not bound.*not run.*Import RedisPatternsModule.*PATTERNS_RUNTIME/;

    it('boots and is a clear error where the module is missing, never unprotected', async () => {
      const moduleRef = await Test.createTestingModule({ providers: [Plain] }).compile();
      opened.push(await moduleRef.init());
      await expect(moduleRef.get(Plain).load(1)).rejects.toThrow(remedies);
      await expect(moduleRef.get(Plain).load(1)).rejects.toBeInstanceOf(NotBoundError);
    });

    it('is bound only where the module is imported when it is not global', async () => {
      const local = TracedModule.forRoot({ isGlobal: false });
      @Module({ imports: [local], providers: [Plain, { provide: 'made', useFactory: () => new Plain() }] })
      class Inside {}
      @Injectable()
      class Outsider extends Plain {}
      @Module({ providers: [Outsider, { provide: 'outside', useFactory: () => new Outsider() }] })
      class Outside {}
      @Module({ imports: [Inside], exports: [Inside] })
      class PassesOn {}
      const moduleRef = await Test.createTestingModule({ imports: [Inside, PassesOn, Outside] })
        .setLogger(silent)
        .compile();
      opened.push(await moduleRef.init());
      for (const token of [Plain, 'made']) {
        await expect(moduleRef.get<Plain>(token, { strict: false }).load(1)).resolves.toBe('loaded 1');
      }
      for (const token of [Outsider, 'outside']) {
        await expect(moduleRef.get<Plain>(token, { strict: false }).load(1)).rejects.toThrow(NotBoundError);
      }
    });

    it('is a clear error on an object made by hand, until it is bound', async () => {
      const moduleRef = await boot({});
      const byHand = new Plain();
      await expect(byHand.load(1)).rejects.toThrow(remedies);
      moduleRef.get<PatternsRuntime>(PATTERNS_RUNTIME).bind(byHand);
      await expect(byHand.load(1)).resolves.toBe('loaded 1');
    });

    it('is a clear error when it is called without its object', async () => {
      const moduleRef = await boot({ providers: [Plain] });
      const detached = Reflect.get(moduleRef.get(Plain), 'load') as (id: number) => Promise<string>;
      await expect(detached(1)).rejects.toThrow(/Plain\.load .*without its object.*\(\) => object\.method\(\)/);
    });

    it('is a clear error in its own constructor', async () => {
      const calls: Promise<string>[] = [];
      @Injectable()
      class Eager extends Plain {
        constructor() {
          super();
          const call = this.load(1);
          call.catch(() => undefined);
          calls.push(call);
        }
      }
      await boot({ providers: [Eager] });
      await expect(calls[0]).rejects.toThrow(/do not call the method in the constructor/);
    });
  });

  describe('on a provider that forRootAsync injects', () => {
    @Module({ providers: [Plain], exports: [Plain] })
    class ConfigModule {}

    it('boots, and works once the application has started', async () => {
      const moduleRef = await Test.createTestingModule({
        imports: [
          ConfigModule,
          TracedModule.forRootAsync({ imports: [ConfigModule], inject: [Plain], useFactory: () => 'configured' }),
        ],
      }).compile();
      opened.push(await moduleRef.init());
      expect(moduleRef.get(Recorder).app).toBe('configured');
      await expect(moduleRef.get(Plain, { strict: false }).load(1)).resolves.toBe('loaded 1');
    });

    it('fails the boot at once, by name, when the options need the decorated method', async () => {
      const booting = Test.createTestingModule({
        imports: [
          TracedModule.forRootAsync({
            imports: [ConfigModule],
            inject: [Plain],
            useFactory: async (plain: Plain) => plain.load(1),
          }),
        ],
      }).compile();
      await expect(booting).rejects.toThrow(
        /Plain\.load cannot run before .*called to produce those options.*forRootAsync.*onModuleInit/,
      );
    });
  });

  it('waits for the engines when another provider calls it while the application is put together', async () => {
    const moduleRef = await Test.createTestingModule({
      imports: [
        TracedModule.forRootAsync({
          useFactory: async () => {
            await new Promise((resolve) => setImmediate(resolve));
            return 'late';
          },
        }),
      ],
      providers: [Plain, { provide: 'warm', inject: [Plain], useFactory: async (plain: Plain) => plain.load(1) }],
    }).compile();
    opened.push(moduleRef);
    expect(moduleRef.get<string>('warm')).toBe('loaded 1');
    expect(eventsOf(moduleRef)).toHaveLength(2);
  });
});
