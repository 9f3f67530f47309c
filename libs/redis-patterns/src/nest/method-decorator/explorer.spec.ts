import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Injectable, Module, Scope, UseGuards, type LoggerService, type ModuleMetadata } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { Traced, TracedModule, TracedValue } from '../../../../../test/support/traced-pattern.js';
import { InvalidOptionsError } from '../../core/errors.js';
import { PatternsExplorer } from './explorer.js';

@Injectable()
class Plain {
  @Traced({ label: 'a ' })
  async load(): Promise<string> {
    return 'loaded';
  }
}

describe('PatternsExplorer', () => {
  const opened: TestingModule[] = [];
  let warnings: string[];
  beforeEach(() => {
    warnings = [];
  });
  afterEach(async () => {
    for (const moduleRef of opened.splice(0)) await moduleRef.close();
  });

  async function boot(metadata: ModuleMetadata, traced = TracedModule.forRoot()): Promise<TestingModule> {
    const logger: LoggerService = {
      log: () => undefined,
      error: () => undefined,
      warn: (text: unknown) => warnings.push(String(text)),
    };
    const moduleRef = await Test.createTestingModule({ ...metadata, imports: [traced, ...(metadata.imports ?? [])] })
      .setLogger(logger)
      .compile();
    await moduleRef.init();
    opened.push(moduleRef);
    return moduleRef;
  }

  it('lists what is decorated: providers of all scopes, enhancers, made objects and overridden methods', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class Derived extends Plain {
      @TracedValue()
      override async load(): Promise<string> {
        return super.load();
      }
    }
    @Injectable()
    class Guard extends Plain {
      canActivate(): boolean {
        return true;
      }
    }
    @Injectable()
    class Guarded {
      @UseGuards(Guard)
      handle(): void {}
    }
    const moduleRef = await boot({
      providers: [
        Derived,
        Guarded,
        { provide: 'made', useFactory: () => new Plain() },
        { provide: 'x', useExisting: 'made' },
      ],
    });
    const listed = moduleRef.get(PatternsExplorer).list();
    expect(listed.map(({ name, decorator, bound }) => [name, decorator, bound])).toEqual([
      ['Derived.load', '@TracedValue', true],
      ['Derived.load@Plain', '@Traced', true],
      ['Plain.load', '@Traced', true],
      ['Guard.load', '@Traced', true],
    ]);
    expect(listed[2]).toMatchObject({
      className: 'Plain',
      methodName: 'load',
      options: { label: 'a ' },
      module: 'RootTestModule',
    });
    expect(warnings).toEqual([]);
  });

  it('fails the boot when options are wrong, naming the method, also of a request-scoped provider', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class Service {
      // @ts-expect-error an unknown option
      @Traced({ lable: 'x' })
      async load(): Promise<void> {}
    }
    const booting = boot({ providers: [Service] });
    await expect(booting).rejects.toBeInstanceOf(InvalidOptionsError);
    await expect(booting).rejects.toThrow(/Service\.load:\s+- lable: unknown option; did you mean 'label'/);
  });

  it('reports everything that is wrong in one error', async () => {
    class Service {
      // @ts-expect-error an unknown option
      @Traced({ lable: 'x' })
      async load(): Promise<void> {}
      @Traced({ label: 1 as never })
      async save(): Promise<void> {}
    }
    const booting = boot({ providers: [Service] });
    await expect(booting).rejects.toMatchObject({
      issues: [{ path: 'Service.save: label' }, { path: 'Service.load: lable' }],
    });
  });

  it('refuses two methods of one name where the name is a key, but not one class met twice', async () => {
    const namesake = (): new () => object => {
      @Injectable()
      class Repository {
        @TracedValue()
        async find(): Promise<void> {}
      }
      return Repository;
    };
    const once = namesake();
    @Module({ providers: [once] })
    class Other {}
    const moduleRef = await boot({ imports: [Other], providers: [once] });
    const derived = Object.create(moduleRef.get<object>(once)) as { find(): Promise<void> };
    await expect(derived.find()).resolves.toBeUndefined();
    await expect(boot({ providers: [namesake(), namesake()] })).rejects.toThrow(
      /Two methods with @TracedValue are called Repository\.find.*'key'.*rename/,
    );
  });

  it('warns of decorated methods whose module does not see the library', async () => {
    @Module({ providers: [Plain] })
    class Outside {}
    const moduleRef = await boot({ imports: [Outside] }, TracedModule.forRoot({ isGlobal: false }));
    expect(warnings).toEqual([expect.stringMatching(/not imported where.*Plain\.load \(Outside\)/)]);
    expect(moduleRef.get(PatternsExplorer).list()).toMatchObject([{ name: 'Plain.load', bound: false }]);
  });

  it('gives an object that two applications share to the later one, with a warning', async () => {
    const shared = new Plain();
    const metadata = { providers: [{ provide: 'shared', useValue: shared }] };
    await boot(metadata);
    expect(warnings).toEqual([]);
    await boot(metadata);
    expect(warnings).toEqual([expect.stringMatching(/A Plain is provided to two applications.*useFactory/)]);
  });
});
