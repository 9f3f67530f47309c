import { afterEach, describe, expect, it } from '@jest/globals';
import { applyDecorators, Injectable, SetMetadata } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { runInNewContext } from 'node:vm';
import { Recorder, Traced, TracedModule } from '../../../../../test/support/traced-pattern.js';
import { DecoratedMethodError } from './method-decorator.errors.js';

type AnyMethod = (...args: unknown[]) => unknown;

function decorate(target: object, key: string | undefined, descriptor?: PropertyDescriptor | number): void {
  const decorator: (...args: never[]) => unknown = Traced();
  Reflect.apply(decorator, undefined, [target, key, descriptor]);
}

describe('a decorated method, where it is declared', () => {
  let moduleRef: TestingModule | undefined;
  afterEach(() => moduleRef?.close());

  async function boot<T extends object>(provider: new () => T): Promise<{ service: T; recorder: Recorder }> {
    moduleRef = await Test.createTestingModule({ imports: [TracedModule.forRoot()], providers: [provider] }).compile();
    await moduleRef.init();
    return { service: moduleRef.get(provider), recorder: moduleRef.get(Recorder) };
  }

  it('keeps its name, its length and its own properties', () => {
    const marked = (_target: object, _key: string, descriptor: PropertyDescriptor): void => {
      (descriptor.value as unknown as { mark: string }).mark = 'below';
    };
    class Service {
      @Traced()
      @marked
      async load(_id: number, _locale: string): Promise<void> {}
    }
    const { load } = Service.prototype as unknown as { load: AnyMethod & { mark: string } };
    expect([load.name, load.length, load.mark]).toEqual(['load', 2, 'below']);
  });

  it('carries metadata written below and above it, and the return type', () => {
    class Service {
      @SetMetadata('above', 1)
      @Traced()
      @SetMetadata('below', 2)
      async load(): Promise<void> {}
    }
    const { load } = Service.prototype as unknown as { load: AnyMethod };
    expect(Reflect.getMetadata('above', load)).toBe(1);
    expect(Reflect.getMetadata('below', load)).toBe(2);
    expect(Reflect.getMetadata('design:returntype', Service.prototype, 'load')).toBe(Promise);
  });

  it('composes with other decorators of the library, the first written being the outermost', async () => {
    @Injectable()
    class Service {
      @Traced({ label: 'outer ' })
      @Traced({ label: 'inner ' })
      async load(id: number): Promise<number> {
        return id * 2;
      }
    }
    const { service, recorder } = await boot(Service);
    await expect(service.load(21)).resolves.toBe(42);
    expect(recorder.events).toEqual([
      'outer Service.load before(21)',
      'inner Service.load before(21)',
      'inner Service.load after=42',
      'outer Service.load after=42',
    ]);
  });

  it('works by applyDecorators, which ignores what a decorator returns', async () => {
    const Composed = (): MethodDecorator => applyDecorators(SetMetadata('x', 1), Traced() as MethodDecorator);
    @Injectable()
    class Service {
      @Composed()
      async load(): Promise<string> {
        return 'loaded';
      }
    }
    const { service, recorder } = await boot(Service);
    await expect(service.load()).resolves.toBe('loaded');
    expect(recorder.events).toHaveLength(2);
  });

  it('runs inside of a wrapper of another library that knows nothing of it', async () => {
    const Foreign = (_target: object, _key: string, descriptor: PropertyDescriptor): void => {
      const inner = descriptor.value as AnyMethod;
      descriptor.value = async function (this: unknown, ...args: unknown[]) {
        return `foreign(${String(await inner.apply(this, args))})`;
      };
    };
    @Injectable()
    class Service {
      @Foreign
      @Traced()
      async load(): Promise<string> {
        return 'loaded';
      }
    }
    const { service, recorder } = await boot(Service);
    await expect(service.load()).resolves.toBe('foreign(loaded)');
    expect(recorder.sites[0]?.name).toBe('Service.load');
  });

  it('may be named by a symbol', async () => {
    const load = Symbol('load');
    @Injectable()
    class Service {
      @Traced()
      async [load](id: number): Promise<number> {
        return id;
      }
    }
    const { service, recorder } = await boot(Service);
    await expect(service[load](7)).resolves.toBe(7);
    expect(recorder.events[0]).toBe('Service.[load] before(7)');
  });

  it('takes a promise that is not its own kind of promise for one', async () => {
    const foreign = runInNewContext(`Promise.resolve('settled')`) as Promise<string>;
    expect(foreign).not.toBeInstanceOf(Promise);
    @Injectable()
    class Service {
      @Traced()
      load(): Promise<string> {
        return foreign;
      }
    }
    const { service } = await boot(Service);
    await expect(service.load()).resolves.toBe('settled');
  });

  it('rejects with what the method throws before its first await', async () => {
    @Injectable()
    class Service {
      @Traced()
      load(): Promise<string> {
        throw new Error('too early');
      }
    }
    const { service, recorder } = await boot(Service);
    await expect(service.load()).rejects.toThrow('too early');
    expect(recorder.events.at(-1)).toBe('Service.load failed:too early');
  });

  it('is refused on a static method', () => {
    class Service {
      static async load(): Promise<void> {}
    }
    const descriptor = Object.getOwnPropertyDescriptor(Service, 'load');
    expect(() => decorate(Service, 'load', descriptor)).toThrow(DecoratedMethodError);
    expect(() => decorate(Service, 'load', descriptor)).toThrow(
      /@Traced .*static method Service\.load.*instance method/,
    );
  });

  it('is refused on an accessor, a property, a class and a parameter', () => {
    class Service {
      get load(): string {
        return '';
      }
    }
    const descriptor = Object.getOwnPropertyDescriptor(Service.prototype, 'load');
    expect(() => decorate(Service.prototype, 'load', descriptor)).toThrow(/Service\.load, which is an accessor/);
    expect(() => decorate(Service.prototype, 'find')).toThrow(/Service\.find, which is a property/);
    expect(() => decorate(Service, undefined)).toThrow(
      /@Traced cannot be used on the class Service\. Decorate its methods/,
    );
    expect(() => decorate(Service.prototype, 'find', 0)).toThrow(/a parameter of Service\.find/);
  });

  it('is refused by name when compiled with standard decorators', () => {
    const decorator: (...args: never[]) => unknown = Traced();
    const asStandard = (): unknown =>
      Reflect.apply(decorator, undefined, [() => undefined, { kind: 'method', name: 'load' }]);
    expect(asStandard).toThrow(/experimentalDecorators/);
  });

  it('is refused at the start, and by a call that comes before, when it is declared synchronous or is a generator', async () => {
    let runs = 0;
    @Injectable()
    class Total {
      // @ts-expect-error a synchronous method
      @Traced()
      total(): number {
        runs += 1;
        return 3;
      }
    }
    @Injectable()
    class Rows {
      // @ts-expect-error a generator
      @Traced()
      async *rows(): AsyncGenerator<number> {
        runs += 1;
        yield 3;
      }
    }
    const imports = [TracedModule.forRoot()];
    for (const [provider, method, words] of [
      [Total, 'total', /Total\.total with @Traced is declared to return Number.*'async'/],
      [Rows, 'rows', /Rows\.rows with @Traced is a generator.*a list/],
    ] as const) {
      moduleRef = await Test.createTestingModule({ imports, providers: [provider] }).compile();
      const service = moduleRef.get<Record<string, () => Promise<unknown>>>(provider as never);
      await expect(service[method]!()).rejects.toThrow(words);
      await expect(moduleRef.init()).rejects.toThrow(words);
      await expect(service[method]!()).rejects.toBeInstanceOf(DecoratedMethodError);
    }
    expect(runs).toBe(0);
  });

  it.each([
    ['a plain Array', ['a']],
    ['undefined', undefined],
    ['null', null],
    ['a number', 1],
    ['a generator', (async function* () {})()],
  ])('is an error naming it when it gives %s and its type says nothing', async (shown, value) => {
    @Injectable()
    class Service {
      @Traced()
      // oxlint-disable-next-line typescript/no-explicit-any -- what a caller in JavaScript has
      load(): any {
        return value;
      }
    }
    const { service } = await boot(Service);
    await expect(service.load()).rejects.toThrow(`Service.load with @Traced returned ${shown} instead of a promise`);
  });
});
