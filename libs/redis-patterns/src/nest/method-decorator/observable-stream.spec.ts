import { afterEach, describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { firstValueFrom, lastValueFrom, NEVER, Observable, of, Subject, take, throwError, toArray } from 'rxjs';
import { Recorder, Traced, TracedModule, tracedPattern } from '../../../../../test/support/traced-pattern.js';
import { decorateMethod } from './method-decorator.js';

describe('a decorated method that returns an Observable, as a stream', () => {
  let moduleRef: TestingModule;
  afterEach(() => moduleRef.close());

  async function boot<T extends object>(provider: new () => T): Promise<{ service: T; recorder: Recorder }> {
    moduleRef = await Test.createTestingModule({ imports: [TracedModule.forRoot()], providers: [provider] }).compile();
    await moduleRef.init();
    return { service: moduleRef.get(provider), recorder: moduleRef.get(Recorder) };
  }

  it('stays cold: nothing runs before a subscription, and each subscription is a call', async () => {
    let runs = 0;
    @Injectable()
    class Service {
      @Traced()
      watch(id: number): Observable<number> {
        runs += 1;
        return of(id, id + 1);
      }
    }
    const { service, recorder } = await boot(Service);
    const watched = service.watch(1);
    expect(watched).toBeInstanceOf(Observable);
    expect([runs, recorder.calls.length]).toEqual([0, 0]);
    await expect(lastValueFrom(watched.pipe(toArray()))).resolves.toEqual([1, 2]);
    await expect(lastValueFrom(watched.pipe(toArray()))).resolves.toEqual([1, 2]);
    expect([runs, recorder.calls.length]).toEqual([2, 2]);
  });

  it('passes emissions on while the pattern is held open, and completes after it', async () => {
    const source = new Subject<string>();
    @Injectable()
    class Service {
      @Traced()
      watch(): Observable<string> {
        return source;
      }
    }
    const { service, recorder } = await boot(Service);
    const seen: string[] = [];
    const done = new Promise<void>((resolve) => {
      service.watch().subscribe({
        next: (value) => seen.push(value),
        complete: () => {
          seen.push(`complete after ${recorder.events.length} events`);
          resolve();
        },
      });
    });
    expect(source.observed).toBe(true);
    source.next('a');
    source.next('b');
    expect(seen).toEqual(['a', 'b']);
    expect(recorder.events).toEqual(['Service.watch before()']);
    source.complete();
    await done;
    expect(recorder.events[1]).toBe('Service.watch after=b');
    expect(seen.at(-1)).toBe('complete after 2 events');
  });

  it('passes on an error, and one thrown before there is an Observable', async () => {
    @Injectable()
    class Service {
      @Traced()
      watch(): Observable<string> {
        return throwError(() => new Error('broken'));
      }
      @Traced()
      open(): Observable<string> {
        throw new Error('not opened');
      }
    }
    const { service, recorder } = await boot(Service);
    await expect(lastValueFrom(service.watch())).rejects.toThrow('broken');
    await expect(lastValueFrom(service.open())).rejects.toThrow('not opened');
    expect(recorder.events).toContain('Service.watch failed:broken');
  });

  it('ends the pattern, the signal and the source when the subscriber leaves', async () => {
    let stopped = 0;
    @Injectable()
    class Service {
      @Traced()
      watch(): Observable<number> {
        return new Observable((subscriber) => {
          subscriber.next(1);
          return () => (stopped += 1);
        });
      }
    }
    const { service, recorder } = await boot(Service);
    await expect(firstValueFrom(service.watch())).resolves.toBe(1);
    await until(() => recorder.events.length === 2);
    expect(stopped).toBe(1);
    expect(recorder.events[1]).toBe('Service.watch after=1');
    expect(recorder.calls[0]?.signal?.aborted).toBe(true);
  });

  it('stops an endless synchronous source when the subscriber has enough', async () => {
    let produced = 0;
    @Injectable()
    class Service {
      @Traced()
      watch(): Observable<number> {
        return new Observable((subscriber) => {
          while (!subscriber.closed && produced < 1_000) subscriber.next((produced += 1));
        });
      }
    }
    const { service } = await boot(Service);
    await expect(lastValueFrom(service.watch().pipe(take(3), toArray()))).resolves.toEqual([1, 2, 3]);
    expect(produced).toBe(3);
  });

  it('does not abort the signal of a call that has ended', async () => {
    @Injectable()
    class Service {
      @Traced()
      watch(): Observable<number> {
        return of(1);
      }
    }
    const { service, recorder } = await boot(Service);
    await lastValueFrom(service.watch());
    expect(recorder.calls[0]?.signal?.aborted).toBe(false);
  });

  it('does not run the method for a subscriber that left while the pattern waited', async () => {
    const gate = new Subject<void>();
    let runs = 0;
    let proceeded: unknown = 'not yet';
    const Gated = decorateMethod<object>(
      {
        ...tracedPattern,
        bind: () => async (call) => {
          await lastValueFrom(gate, { defaultValue: undefined });
          proceeded = await call.proceed();
        },
      },
      {},
    );
    @Injectable()
    class Service {
      @Gated
      watch(): Observable<number> {
        runs += 1;
        return of(1);
      }
    }
    const { service } = await boot(Service);
    const subscription = service.watch().subscribe();
    subscription.unsubscribe();
    gate.complete();
    await until(() => proceeded === undefined);
    expect(runs).toBe(0);
  });

  it.each([
    ['an Observable', () => of(7, 8), [7, 8]],
    ['a value', () => 7, [7]],
    ['nothing', () => undefined, []],
  ])('emits what the pattern answers instead of the method: %s', async (_what, answer, emitted) => {
    @Injectable()
    class Service {
      @Traced({ answer })
      watch(): Observable<unknown> {
        return NEVER;
      }
    }
    const { service } = await boot(Service);
    await expect(lastValueFrom(service.watch().pipe(toArray()))).resolves.toEqual(emitted);
  });
});

async function until(condition: () => boolean): Promise<void> {
  const deadline = Date.now() + 2_000;
  while (!condition()) {
    if (Date.now() > deadline) throw new Error(`never came true: ${String(condition)}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}
