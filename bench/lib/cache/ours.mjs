// The library as an application has it. Each kind of cache has a namespace, and so an application, of its own.
import { setTimeout as sleep } from 'node:timers/promises';
import { CacheService } from 'nestjs-redis-patterns';
import { openApplication } from '../context.mjs';

const ARMING_MS = 5000;
/** A machine with other work stalls for longer than the default; a read that was given up is not what is measured. */
const OPERATION_TIMEOUT = '2s';

/** @param {string} url @param {string} name of the namespace @param {object} [cache] its options */
export async function openOurs(url, name, cache = {}) {
  const app = await openApplication(url, {
    namespace: `bench-${name}`,
    cache: { operationTimeout: OPERATION_TIMEOUT, ...cache },
  });
  const service = app.get(CacheService);
  if ('l1' in cache) await armed(service);
  return { service, close: () => app.close() };
}

/** Copies in memory are kept only while the server's messages are known to arrive. */
export async function armed(service) {
  for (const end = performance.now() + ARMING_MS; ; await sleep(10)) {
    if (service.stats().l1?.armed) return;
    if (performance.now() > end) throw new Error('The copies in memory were not armed');
  }
}
