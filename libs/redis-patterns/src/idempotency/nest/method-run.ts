import { z } from 'zod';
import { InvalidOptionsError, isCallContext, parseOptions } from '../../core/index.js';
import { hashArguments, InvalidKeyError, missingInKey, type Key } from '../../keys/index.js';
import type { Around, CallSite, PatternsRuntime } from '../../nest/method-decorator/index.js';
import { idempotencyCallSchema, mergeIdempotencyCall, type IdempotencyCallOptions } from '../idempotency.options.js';
import { IdempotencyService } from '../idempotency.service.js';
import { valueTask } from '../task.js';

export type KeyOfCall = (...args: never[]) => Key;
export type FingerprintOfCall = (...args: never[]) => unknown;
type OfCall = (...args: unknown[]) => unknown;

/** Options of `@Idempotent` on a method that handles no requests. */
export interface IdempotentMethodOptions<
  KeyFn extends KeyOfCall = KeyOfCall,
  PrintFn extends FingerprintOfCall = FingerprintOfCall,
> extends IdempotencyCallOptions {
  /** Names the work that is done once, by the arguments of the call. */
  key: KeyFn;
  /** What a repeated call must have in common with the first, by the arguments of the call. Default: all arguments but the context of a message. */
  fingerprint?: PrintFn;
}

const isFunction = (value: unknown): value is OfCall => typeof value === 'function';
const KEY_REMEDY =
  "must be a function of the arguments, as this method answers no HTTP requests: such as (id: string) => ['payment', id]";

const schema = idempotencyCallSchema.extend({
  key: z.custom<OfCall>(isFunction, KEY_REMEDY),
  fingerprint: z.custom<OfCall>(isFunction, 'must be a function of the arguments').optional(),
});

/** `@Idempotent` around the calls of a method. */
export function runMethod(raw: unknown, runtime: PatternsRuntime, site: CallSite): Around {
  const where = `@Idempotent on ${site.name}`;
  const { key, fingerprint, ...given } = parseOptions(schema, raw, where);
  const service = runtime.engine(IdempotencyService);
  const resolved = mergeIdempotencyCall(given, service.options);
  return (call) => {
    const { args } = call;
    const payload = fingerprint === undefined ? args.filter((arg) => !isCallContext(arg)) : [fingerprint(...args)];
    const options = call.signal === undefined ? resolved : { ...resolved, signal: call.signal };
    return service.perform(
      checkKey(key(...args), where),
      printOf(site.name, payload, where),
      options,
      valueTask(() => call.proceed(), where),
    );
  };
}

/** With the name, so that two methods whose keys are alike by mistake are an error, and never each other's results. */
function printOf(name: string, payload: readonly unknown[], where: string): string {
  try {
    return hashArguments([name, ...payload]);
  } catch (error) {
    if (!(error instanceof InvalidKeyError)) throw error;
    const message = `must give what a repeated call has in common with the first, such as (order) => order.id: ${error.message}`;
    throw new InvalidOptionsError(where, [{ path: 'fingerprint', message }]);
  }
}

/** A key that lacks something by mistake would be the same work for everything. */
function checkKey(key: unknown, where: string): Key {
  const lack = missingInKey(key);
  if (lack === undefined) return key as Key;
  const message = `${lack} for this call; it must give a text, or an array with something in each part`;
  throw new InvalidOptionsError(where, [{ path: 'key', message }]);
}
