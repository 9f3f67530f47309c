import { z } from 'zod';
import { parseOptions } from '../../core/index.js';
import {
  decorateMethod,
  type AsyncMethod,
  type CallSite,
  type DecoratedCall,
  type InstanceTarget,
  type MethodPattern,
} from '../../nest/method-decorator/index.js';
import { LockUnavailableError } from '../lock.errors.js';
import { lockUsingSchema, mergeLockCall, type LockOptions } from '../lock.options.js';
import { LockService } from '../lock.service.js';
import { checkRunOnce, resolveRunOnce, runOnceShape, type RunOnceOptions } from '../run-once/run-once.options.js';
import { RunOnceService } from '../run-once/run-once.service.js';
import type { Skippable } from './skippable.js';

/** Options of {@link RunOnce}. */
export interface RunOnceMethodOptions extends RunOnceOptions, Pick<LockOptions, 'lease' | 'maxHold'> {
  /** Name of what runs once, the same in all processes. */
  name: string;
  /**
   * Whether a run may start while the one before still runs. Default `false`: the method runs under the lock
   * `['runonce', name]`, and a call that finds it held is skipped, without taking its slot.
   */
  overlap?: boolean;
  /**
   * What a call does when Redis cannot say whether the run is taken. `'throw'` (default): `LockUnavailableError`. `'skip'`:
   * it does not run, as if another process had it. `'run'`: it runs, maybe in several processes, without the lock.
   */
  onUnavailable?: 'throw' | 'skip' | 'run';
}

const schema = z
  .strictObject({
    ...runOnceShape,
    name: z.string().min(1, "must be a non-empty text, the same in all processes, such as 'nightly-report'"),
    overlap: z.boolean().default(false),
    lease: lockUsingSchema.shape.lease,
    maxHold: lockUsingSchema.shape.maxHold,
    onUnavailable: z.enum(['throw', 'skip', 'run'], "must be 'throw', 'skip' or 'run'").default('throw'),
  })
  .superRefine(checkRunOnce);

const runOnce: MethodPattern<unknown> = {
  decorator: '@RunOnce',
  observable: 'stream',
  onlyOnce: true,
  bind(raw, runtime, site) {
    const where = `@RunOnce on ${site.name}`;
    const { name, overlap, onUnavailable, lease, maxHold, ...options } = parseOptions(schema, raw, where);
    const runs = runtime.engine(RunOnceService);
    const locks = runtime.engine(LockService);
    const run = resolveRunOnce(options);
    const held = mergeLockCall({ lease, maxHold, wait: 0 }, locks.options, true, site.name);
    const unlocked = async (call: DecoratedCall) =>
      (await runs.claimRun(name, run, where)) ? call.proceed() : undefined;
    const locked = (call: DecoratedCall) => {
      const inLock = call.signal === undefined ? held : { ...held, signal: call.signal };
      // The lock first: a call that is skipped because of the run before must not use up the slot.
      return locks.run(
        ['runonce', name],
        inLock,
        () => unlocked(call),
        () => undefined,
      );
    };
    const around = overlap ? unlocked : locked;
    return onUnavailable === 'throw' ? around : (call) => whenUnavailable(around, call, onUnavailable === 'run', site);
  },
};

/** Answers for Redis when it cannot be asked; what the method itself throws passes, whatever its class. */
async function whenUnavailable(
  around: (call: DecoratedCall) => Promise<unknown>,
  call: DecoratedCall,
  run: boolean,
  site: CallSite,
): Promise<unknown> {
  let began = false;
  const watched: DecoratedCall = {
    site,
    instance: call.instance,
    args: call.args,
    ...(call.signal === undefined ? {} : { signal: call.signal }),
    proceed: () => {
      began = true;
      return call.proceed();
    },
  };
  try {
    return await around(watched);
  } catch (error) {
    if (began || !(error instanceof LockUnavailableError)) throw error;
    return run ? call.proceed() : undefined;
  }
}

type OnceMethod = <M extends AsyncMethod>(
  target: InstanceTarget,
  propertyKey: string | symbol,
  descriptor: TypedPropertyDescriptor<M> & Skippable<M>,
) => void;

/**
 * Runs a method that is due in many processes in one of them only, for each slot of time once. Put it on what a scheduler
 * calls. A skipped call resolves to `undefined`; a run that fails or crashes is not repeated before its next slot.
 *
 * @throws (calls) what the method throws, unchanged
 * @throws (calls) LockUnavailableError when Redis did not answer for a second, with `overlap: true` 5 s (see `onUnavailable`)
 * @throws (calls) LockLostError when the lock against overlapping runs was lost meanwhile (see `lock.onLost`)
 *
 * @example
 * ```ts
 * @Cron('0 3 * * *')
 * @RunOnce({ name: 'nightly-report', per: (now) => now.toISOString().slice(0, 10) })
 * async report(): Promise<void> { … }
 * ```
 */
export function RunOnce(options: RunOnceMethodOptions): OnceMethod {
  return decorateMethod(runOnce, options);
}
