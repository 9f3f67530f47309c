import { afterEach, describe, expect, it } from '@jest/globals';
import { Injectable, Module, Scope, type ModuleMetadata, type OnModuleInit } from '@nestjs/common';
import { ContextIdFactory, ModuleRef } from '@nestjs/core';
import { Test, type TestingModule } from '@nestjs/testing';
import { Recorder, Traced, TracedModule } from '../../../../../test/support/traced-pattern.js';

@Injectable()
class Plain {
  @Traced()
  async load(id: number): Promise<string> {
    return `loaded ${id}`;
  }
}

describe('a decorated method in an application', () => {
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

  it('is wrapped in request-scoped and transient providers, each instance by itself', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class PerRequest extends Plain {}
    @Injectable({ scope: Scope.TRANSIENT })
    class PerUser extends Plain {}
    const moduleRef = await boot({ providers: [PerRequest, PerUser] });
    const request = await moduleRef.resolve(PerRequest, ContextIdFactory.create());
    const other = await moduleRef.resolve(PerRequest, ContextIdFactory.create());
    const transient = await moduleRef.resolve(PerUser);
    await Promise.all([request.load(1), other.load(2), transient.load(3)]);
    expect(request).not.toBe(other);
    expect(eventsOf(moduleRef)).toEqual(
      expect.arrayContaining(['PerRequest.load before(1)', 'PerRequest.load before(2)', 'PerUser.load before(3)']),
    );
    // Twice by the explorer's validation of the two classes, never again by an instance.
    expect(moduleRef.get(Recorder).sites).toHaveLength(2);
  });

  it('is wrapped in a class that only ModuleRef.create() makes', async () => {
    const moduleRef = await boot({});
    const created = await moduleRef.get(ModuleRef).create(Plain);
    await expect(created.load(1)).resolves.toBe('loaded 1');
    expect(eventsOf(moduleRef)).toHaveLength(2);
  });

  it('is named by the concrete class when subclasses inherit it', async () => {
    abstract class Repository {
      abstract readonly table: string;
      @Traced()
      async find(id: number): Promise<string> {
        return `${this.table}:${id}`;
      }
    }
    @Injectable()
    class Users extends Repository {
      readonly table = 'users';
    }
    @Injectable()
    class Orders extends Repository {
      readonly table = 'orders';
    }
    const moduleRef = await boot({ providers: [Users, Orders] });
    await expect(moduleRef.get(Users).find(1)).resolves.toBe('users:1');
    await expect(moduleRef.get(Orders).find(1)).resolves.toBe('orders:1');
    const names = moduleRef.get(Recorder).sites.map((site) => site.name);
    expect(names).toEqual(['Users.find', 'Orders.find']);
  });

  it('has another name when an override calls it by super, also through namesakes', async () => {
    class Base {
      @Traced()
      async load(): Promise<string> {
        return 'base';
      }
    }
    const Legacy = { Orders: class Orders extends Base {} };
    class Middle extends Legacy.Orders {
      @Traced()
      override async load(): Promise<string> {
        return `middle(${await super.load()})`;
      }
    }
    Object.defineProperty(Middle, 'name', { value: 'Base' });
    @Injectable()
    class Derived extends Middle {
      @Traced()
      override async load(): Promise<string> {
        return `derived(${await super.load()})`;
      }
    }
    const moduleRef = await boot({ providers: [Derived] });
    await expect(moduleRef.get(Derived).load()).resolves.toBe('derived(middle(base))');
    const names = moduleRef.get(Recorder).calls.map((call) => call.site.name);
    expect(names).toEqual(['Derived.load', 'Derived.load@Base', 'Derived.load@Base#2']);
  });

  it('is wrapped under an override that is not decorated', async () => {
    @Injectable()
    class Derived extends Plain {
      override async load(id: number): Promise<string> {
        return `derived(${await super.load(id)})`;
      }
    }
    const moduleRef = await boot({ providers: [Derived] });
    await expect(moduleRef.get(Derived).load(1)).resolves.toBe('derived(loaded 1)');
    expect(eventsOf(moduleRef)[0]).toBe('Derived.load@Plain before(1)');
  });

  it('is wrapped when the object calls itself, and when the constructor has bound it', async () => {
    @Injectable()
    class Service {
      readonly bound: () => Promise<string>;
      constructor() {
        this.bound = this.load.bind(this);
      }
      async both(): Promise<string> {
        return this.load();
      }
      @Traced()
      async load(): Promise<string> {
        return 'loaded';
      }
    }
    const moduleRef = await boot({ providers: [Service] });
    await moduleRef.get(Service).both();
    await moduleRef.get(Service).bound();
    expect(eventsOf(moduleRef)).toHaveLength(4);
  });

  it('is wrapped during the onModuleInit of another module, whatever the order of imports', async () => {
    @Module({ providers: [Plain], exports: [Plain] })
    class PlainModule {}
    @Injectable()
    class Warmer implements OnModuleInit {
      warmed?: string;
      constructor(private readonly plain: Plain) {}
      async onModuleInit(): Promise<void> {
        this.warmed = await this.plain.load(1);
      }
    }
    @Module({ imports: [PlainModule], providers: [Warmer] })
    class WarmModule {}
    const moduleRef = await Test.createTestingModule({ imports: [WarmModule, TracedModule.forRoot()] }).compile();
    opened.push(await moduleRef.init());
    expect(moduleRef.get(Warmer, { strict: false }).warmed).toBe('loaded 1');
    expect(eventsOf(moduleRef)).toHaveLength(2);
  });

  it('belongs to its own application when two of them use one class', async () => {
    const first = await boot({ providers: [Plain] }, 'first');
    const second = await boot({ providers: [Plain] }, 'second');
    await first.get(Plain).load(1);
    await second.get(Plain).load(2);
    expect(eventsOf(first)).toEqual(['Plain.load before(1)', 'Plain.load after=loaded 1']);
    expect(eventsOf(second)).toEqual(['Plain.load before(2)', 'Plain.load after=loaded 2']);
    await second.close();
    await expect(first.get(Plain).load(3)).resolves.toBe('loaded 3');
  });
});
