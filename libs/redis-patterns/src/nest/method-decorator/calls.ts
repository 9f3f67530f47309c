import { isObservable, lastValueFrom, fromEvent, Observable, take, takeUntil, tap, toArray } from 'rxjs';
import type { Subscriber } from 'rxjs';
import { DecoratedMethodError } from './method-decorator.errors.js';
import type { CallSite, DecoratedCall } from './types.js';

type Method = (...args: unknown[]) => unknown;

abstract class Call implements DecoratedCall {
  constructor(
    readonly site: CallSite,
    readonly instance: object,
    readonly args: readonly unknown[],
    protected readonly original: Method,
  ) {}

  abstract proceed(): Promise<unknown>;

  protected run(): unknown {
    return Reflect.apply(this.original, this.instance, this.args);
  }

  protected runObservable(): Observable<unknown> {
    const result = this.run();
    if (isObservable(result)) return result;
    throw new DecoratedMethodError(
      `${this.site.name} with ${this.site.decorator} is declared to return an Observable, but returned ${kindOf(result)}.`,
    );
  }
}

/** A call of a method that returns a promise. */
export class PromiseCall extends Call {
  proceed(): Promise<unknown> {
    try {
      const result = this.run();
      if (result instanceof Promise) return result;
      if (isThenable(result)) return Promise.resolve(result);
      return Promise.reject(notAsynchronous(this.site, result));
    } catch (error) {
      return Promise.reject(error);
    }
  }
}

/** A call of a method whose Observable stands for one value. */
export class ValueCall extends Call {
  async proceed(): Promise<unknown> {
    // The second value is enough to know, and endless sources must not be read to their end.
    const values = await lastValueFrom(this.runObservable().pipe(take(2), toArray()));
    if (values.length < 2) return values[0];
    throw new DecoratedMethodError(
      `${this.site.name} has emitted more than one value, but ${this.site.decorator} is about a single one. ` +
        `Collect them inside of the method, for example with toArray() or last().`,
    );
  }
}

/** What a subscription and the call that it has made share. */
export interface Emission {
  readonly subscriber: Subscriber<unknown>;
  /** Aborted when the subscriber leaves before the end. */
  readonly signal: AbortSignal;
  /** Whether the method has been run, so that the subscriber has got what there is. */
  proceeded: boolean;
}

/** A call of a method whose emissions go straight to the subscriber. */
export class StreamCall extends Call {
  readonly signal: AbortSignal;

  constructor(
    site: CallSite,
    instance: object,
    args: readonly unknown[],
    original: Method,
    private readonly emission: Emission,
  ) {
    super(site, instance, args, original);
    this.signal = emission.signal;
  }

  async proceed(): Promise<unknown> {
    const { emission, signal } = this;
    emission.proceeded = true;
    if (signal.aborted) return undefined;
    let last: unknown;
    const passOn = (value: unknown): void => {
      // First, as the subscriber may leave upon it.
      last = value;
      emission.subscriber.next(value);
    };
    const emitted = this.runObservable().pipe(takeUntil(fromEvent(signal, 'abort')), tap(passOn));
    await lastValueFrom(emitted, { defaultValue: undefined });
    return last;
  }
}

/** An Observable that makes the call on each subscription, and emits the result. */
export function emitResult(start: () => Promise<unknown>): Observable<unknown> {
  return new Observable((subscriber) => {
    start().then(
      (value) => {
        subscriber.next(value);
        subscriber.complete();
      },
      (error: unknown) => subscriber.error(error),
    );
  });
}

/** An Observable that makes the call on each subscription, and passes on what the method emits meanwhile. */
export function emitStream(start: (emission: Emission) => Promise<unknown>): Observable<unknown> {
  return new Observable((subscriber) => {
    const left = new AbortController();
    const emission: Emission = { subscriber, signal: left.signal, proceeded: false };
    let settled = false;
    subscriber.add(() => {
      if (!settled) left.abort();
    });
    start(emission).then(
      (result) => {
        settled = true;
        if (emission.proceeded) subscriber.complete();
        else answerInstead(subscriber, result);
      },
      (error: unknown) => {
        settled = true;
        subscriber.error(error);
      },
    );
  });
}

/** The pattern answers in place of the method: with nothing, a value, or an Observable as the method would have. */
function answerInstead(subscriber: Subscriber<unknown>, result: unknown): void {
  if (isObservable(result)) {
    result.subscribe(subscriber);
    return;
  }
  if (result !== undefined) subscriber.next(result);
  subscriber.complete();
}

function notAsynchronous(site: CallSite, result: unknown): DecoratedMethodError {
  const remedy = isObservable(result)
    ? `Declare its return type, ': Observable<...>', with a value import of Observable ('import type' is erased), and ` +
      `compile with emitDecoratorMetadata: the decorator must know before the first call.`
    : isGeneratorObject(result)
      ? `Collect what it yields in a list, or return an Observable: ${site.decorator} would have ended before its body runs.`
      : `Make it 'async': what ${site.decorator} does takes a round trip to Redis.`;
  return new DecoratedMethodError(
    `${site.name} with ${site.decorator} returned ${kindOf(result)} instead of a promise. ${remedy}`,
  );
}

function isGeneratorObject(value: unknown): boolean {
  return /^\[object (Async)?Generator\]$/.test(Object.prototype.toString.call(value));
}

function isThenable(value: unknown): boolean {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function';
}

function kindOf(value: unknown): string {
  if (isObservable(value)) return 'an Observable';
  if (isThenable(value)) return 'a promise';
  if (value === null || value === undefined) return String(value);
  if (isGeneratorObject(value)) return 'a generator';
  return typeof value === 'object' ? `a plain ${value.constructor?.name ?? 'object'}` : `a ${typeof value}`;
}
