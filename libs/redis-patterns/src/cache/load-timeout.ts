import { startTimer } from '../core/timer.js';
import type { CachePolicy } from './cache-policy.js';
import { CacheLoadTimeoutError } from './cache.errors.js';
import type { Flight } from './flights.js';

/** What the factory gives, unless `timeouts.hard` comes first; then its signal aborts. */
export function withTimeout(made: unknown, { options, name }: CachePolicy, flight: Flight): unknown {
  const { hardTimeout } = options;
  if (hardTimeout === Infinity) return made;
  return new Promise((resolve, reject) => {
    const timer = startTimer(hardTimeout, () => {
      const error = new CacheLoadTimeoutError(name, hardTimeout);
      reject(error);
      flight.abort(error);
    });
    void Promise.resolve(made)
      .then(resolve, reject)
      .finally(() => timer.clear());
  });
}
