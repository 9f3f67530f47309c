import { z } from 'zod';
import { InvalidOptionsError, parseOptions } from '../../core/index.js';
import type { Key } from '../../keys/index.js';
import {
  decorateMethod,
  type AsyncMethod,
  type CallSite,
  type FitsMethod,
  type InstanceTarget,
  type MethodPattern,
  type MethodResult,
} from '../../nest/method-decorator/index.js';
import { lockUsingSchema, mergeLockCall, type LockUsingOptions } from '../lock.options.js';
import { LockService } from '../lock.service.js';
import type { Skippable } from './skippable.js';

type KeyFunction = (...args: never[]) => Key;
type BusyFunction = (...args: never[]) => unknown;

/** Options of {@link WithLock}. */
export interface WithLockOptions<
  LockKey extends Key | KeyFunction = Key | KeyFunction,
  OnBusy extends BusyFunction = BusyFunction,
> extends Omit<LockUsingOptions, 'signal' | 'autoExtend'> {
  /** The lock: a text, parts, or a function of the method's arguments. */
  key: LockKey;
  /**
   * What a call does when somebody else holds the lock for all of `wait`. `'throw'` (default): `LockTimeoutError`. `'skip'`:
   * resolves to `undefined` without running the method, whose type must allow that. A function answers in its place.
   */
  onBusy?: 'throw' | 'skip' | OnBusy;
}

type Around = (...args: unknown[]) => unknown;

const optionsSchema = lockUsingSchema.omit({ signal: true, autoExtend: true }).extend({
  key: z.union([z.custom<KeyFunction>((value) => typeof value === 'function'), z.custom<Key>(isKey)], {
    error: "must be a non-empty text, an array such as ['order', 7], or a function of the method's arguments",
  }),
  onBusy: z
    .union([z.enum(['throw', 'skip']), z.custom<BusyFunction>((value) => typeof value === 'function')], {
      error: "must be 'throw', 'skip' or a function of the method's arguments",
    })
    .default('throw'),
});

const withLock: MethodPattern<unknown> = {
  decorator: '@WithLock',
  observable: 'stream',
  bind(raw, runtime, site) {
    const { key, onBusy, ...given } = parseOptions(optionsSchema, raw, `@WithLock on ${site.name}`);
    const locks = runtime.engine(LockService);
    const resolved = mergeLockCall(given, locks.options, true, site.name);
    if (typeof key !== 'function') checkLiteral(key, locks, site);
    const keyOf = typeof key === 'function' ? (key as Around) : () => key;
    return (call) =>
      locks.run(
        checkKey(keyOf(...call.args), site),
        call.signal === undefined ? resolved : { ...resolved, signal: call.signal },
        () => call.proceed(),
        (busy) => {
          if (onBusy === 'throw') throw busy;
          return onBusy === 'skip' ? undefined : (onBusy as Around)(...call.args);
        },
      );
  },
};

function isKey(value: unknown): boolean {
  return (typeof value === 'string' && value !== '') || (Array.isArray(value) && value.length > 0);
}

/** A key that is the same for every call is wrong for every call: that is said at boot. */
function checkLiteral(key: Key, locks: LockService, site: CallSite): void {
  try {
    locks.keyOf(key);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new InvalidOptionsError(`@WithLock on ${site.name}`, [{ path: 'key', message }]);
  }
}

/** A key that is empty by mistake would be one lock for everything. */
function checkKey(key: unknown, site: CallSite): Key {
  if (isKey(key)) return key as Key;
  const message = `gave ${shown(key)} for this call; it must give a non-empty text or array`;
  throw new InvalidOptionsError(`@WithLock on ${site.name}`, [{ path: 'key', message }]);
}

function shown(key: unknown): string {
  if (key === '') return "''";
  if (Array.isArray(key)) return 'an empty array';
  return typeof key === 'object' && key !== null ? 'an object' : String(key);
}

type LockedMethod<LockKey, OnBusy extends BusyFunction> = <M extends AsyncMethod>(
  target: InstanceTarget,
  propertyKey: string | symbol,
  descriptor: TypedPropertyDescriptor<M> &
    FitsMethod<M, Extract<LockKey, KeyFunction>> &
    FitsMethod<M, OnBusy, MethodResult<M> | ReturnType<M>>,
) => void;

type SkippedMethod<LockKey> = <M extends AsyncMethod>(
  target: InstanceTarget,
  propertyKey: string | symbol,
  descriptor: TypedPropertyDescriptor<M> & FitsMethod<M, Extract<LockKey, KeyFunction>> & Skippable<M>,
) => void;

/**
 * Runs the method under a lock, so that one call at a time runs for its key in all processes. The method finds the lock with
 * `LockService.current()`: its `signal`, which aborts when the lock is lost, and its `fence`. An Observable is locked from
 * its subscription to its end.
 *
 * @throws (calls) what the method throws, unchanged
 * @throws (calls) LockTimeoutError, LockUnavailableError, LockReentryError, LockLostError as {@link LockService.using}
 *
 * @example
 * ```ts
 * @WithLock({ key: (order: Order) => ['stock', order.productId], wait: '2s' })
 * async place(order: Order): Promise<Receipt> { … }
 * ```
 */
export function WithLock<LockKey extends Key | KeyFunction>(
  options: WithLockOptions<LockKey, never> & { onBusy: 'skip' },
): SkippedMethod<LockKey>;
export function WithLock<LockKey extends Key | KeyFunction, OnBusy extends BusyFunction = never>(
  options: WithLockOptions<LockKey, OnBusy> & { onBusy?: 'throw' | OnBusy },
): LockedMethod<LockKey, OnBusy>;
export function WithLock<LockKey extends Key | KeyFunction, OnBusy extends BusyFunction = never>(
  options: WithLockOptions<LockKey, OnBusy>,
): LockedMethod<LockKey, OnBusy> {
  return decorateMethod(withLock, options);
}
