import { z } from 'zod';
import { checkOptionNames } from '../core/index.js';
import { isTimeZone, type BucketUnit } from './calendar.js';

/** What makes a series of dated keys of one name. */
export interface BucketOptions {
  /**
   * A key for each hour (`2026-11-30T14`), day (`2026-11-30`), week (`2026-W49`, ISO 8601) or month (`2026-11`), by the clock of Redis.
   * Default: one key for all time.
   */
  bucket?: BucketUnit;
  /** Time zone of the buckets, a name of the IANA database such as `'Europe/Berlin'`. Default `'UTC'`. */
  tz?: string;
}

/** A bucket by a moment in it, or by its id, such as `'2026-11-30'`. */
export type BucketRef = Date | string;

/** Which bucket a call is about. */
export interface AtOptions {
  /** Default: the present one. */
  at?: BucketRef;
}

/** Several buckets: those from one to another, both included, or the last ones with the present one. At most 400. */
export type BucketRange =
  | { readonly from: BucketRef; readonly to?: BucketRef; readonly last?: undefined }
  | { readonly last: number; readonly from?: undefined; readonly to?: undefined };

/** What makes an operation that is repeated, by whomever, happen once. */
export interface OperationOptions {
  /** A name for this very operation, such as the id of the order that it counts. It is remembered for 10 minutes. */
  opId?: string;
}

export const bucketShape = {
  bucket: z.enum(['hour', 'day', 'week', 'month'], "must be 'hour', 'day', 'week' or 'month'").optional(),
  tz: z.custom<string>(isTimeZone, "is no time zone; give a name such as 'Europe/Berlin'").default('UTC'),
};

/** The `at` of a call without other options. @throws InvalidOptionsError for what is none of them */
export function checkAt(options: AtOptions, where: string): BucketRef | undefined {
  checkOptionNames(options, ['at'], where);
  return options.at;
}
