import { afterEach, describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { EMPTY, lastValueFrom, Observable, of, Subject, throwError, toArray } from 'rxjs';
import { Recorder, Traced, TracedModule, TracedValue } from '../../../../../test/support/traced-pattern.js';
import { DecoratedMethodError } from './method-decorator.errors.js';

describe('a decorated method that returns an Observable', () => {
  let moduleRef: TestingModule;
  afterEach(() => moduleRef.close());

  async function boot<T extends object>(provider: new () => T): Promise<{ service: T; recorder: Recorder }> {
    moduleRef = await Test.createTestingModule({ imports: [TracedModule.forRoot()], providers: [provider] }).compile();
    await moduleRef.init();
    return { service: moduleRef.get(provider), recorder: moduleRef.get(Recorder) };
  }

  describe('as a single value', () => {
    it('gives the value to the pattern and emits its result, on each subscription', async () => {
      @Injectable()
      class Service {
        @TracedValue()
        find(id: number): Observable<string> {
          return of(`found ${id}`);
        }
        @TracedValue()
        none(): Observable<string> {
          return EMPTY;
        }
      }
      const { service, recorder } = await boot(Service);
      const found = service.find(1);
      expect(recorder.events).toEqual([]);
      await expect(lastValueFrom(found.pipe(toArray()))).resolves.toEqual(['found 1']);
      await lastValueFrom(found);
      expect(recorder.events.filter((event) => event === 'Service.find after=found 1')).toHaveLength(2);
      await expect(lastValueFrom(service.none())).resolves.toBeUndefined();
    });

    it('refuses several values, and stops the source', async () => {
      let stopped = 0;
      @Injectable()
      class Service {
        @TracedValue()
        find(): Observable<number> {
          return new Observable((subscriber) => {
            subscriber.next(1);
            subscriber.next(2);
            return () => (stopped += 1);
          });
        }
      }
      const { service } = await boot(Service);
      await expect(lastValueFrom(service.find())).rejects.toThrow(/Service\.find .*more than one value.*toArray/);
      expect(stopped).toBe(1);
    });

    it('lets the work go on for others when a subscriber leaves', async () => {
      const source = new Subject<string>();
      @Injectable()
      class Service {
        @TracedValue()
        find(): Observable<string> {
          return source;
        }
      }
      const { service, recorder } = await boot(Service);
      service.find().subscribe().unsubscribe();
      source.next('found');
      source.complete();
      await until(() => recorder.events.length === 2);
      expect(recorder.events[1]).toBe('Service.find after=found');
    });

    it('passes on an error', async () => {
      @Injectable()
      class Service {
        @TracedValue()
        find(): Observable<string> {
          return throwError(() => new Error('broken'));
        }
      }
      const { service } = await boot(Service);
      await expect(lastValueFrom(service.find())).rejects.toThrow('broken');
    });
  });

  it('fails by the Observable, not by an exception, when it is not bound', async () => {
    @Injectable()
    class Service {
      @Traced()
      watch(): Observable<number> {
        return of(1);
      }
    }
    await boot(Service);
    const byHand = new Service().watch();
    await expect(lastValueFrom(byHand)).rejects.toThrow(/Service\.watch .*not bound/);
  });

  it('is known by a declared subclass of Observable too, and by one of another copy of rxjs', async () => {
    class Foreign {
      lift(): void {}
      subscribe(): void {}
    }
    @Injectable()
    class Service {
      @Traced()
      watch(): Subject<number> {
        return of(1) as Subject<number>;
      }
      @Reflect.metadata('x', 1)
      other(): Observable<number> {
        return of(2);
      }
    }
    Reflect.defineMetadata('design:returntype', Foreign, Service.prototype, 'other');
    const descriptor = Object.getOwnPropertyDescriptor(Service.prototype, 'other') as TypedPropertyDescriptor<
      Service['other']
    >;
    Traced()(Service.prototype, 'other', descriptor);
    Object.defineProperty(Service.prototype, 'other', descriptor);
    const { service } = await boot(Service);
    await expect(lastValueFrom(service.watch())).resolves.toBe(1);
    await expect(lastValueFrom(service.other())).resolves.toBe(2);
  });

  it('is a clear error when its type is not declared, or does not tell the truth', async () => {
    @Injectable()
    class Service {
      @Traced()
      // oxlint-disable-next-line typescript/no-explicit-any -- what a caller in JavaScript has
      undeclared(): any {
        return of(1);
      }
      @Traced()
      promised(): Observable<number> {
        return Promise.resolve(1) as never;
      }
    }
    const { service } = await boot(Service);
    await expect(service.undeclared()).rejects.toThrow(/Service\.undeclared .*returned an Observable.*return type/);
    await expect(service.undeclared()).rejects.toBeInstanceOf(DecoratedMethodError);
    await expect(lastValueFrom(service.promised())).rejects.toThrow(/promised .*an Observable, but returned a promise/);
  });
});

async function until(condition: () => boolean): Promise<void> {
  const deadline = Date.now() + 2_000;
  while (!condition()) {
    if (Date.now() > deadline) throw new Error(`never came true: ${String(condition)}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}
