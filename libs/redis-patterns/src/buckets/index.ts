export {
  bucketShape,
  checkAt,
  type AtOptions,
  type BucketOptions,
  type BucketRange,
  type BucketRef,
  type OperationOptions,
} from './bucket.options.js';
export type { Bucket, BucketUnit } from './calendar.js';
export { Definitions } from './definitions.js';
export { checkInteger, checkNames, checkScore, exactNumber, NumberRangeError } from './numbers.js';
export { operationKeys, OPERATION_TTL } from './operation.js';
export { checkName, Series, type Place } from './series.js';
export { ServerClock } from './server-clock.js';
