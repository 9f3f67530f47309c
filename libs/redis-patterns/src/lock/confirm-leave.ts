import { RedisUnavailableError } from '../connection/index.js';
import { backoffDelay, sleep } from '../core/index.js';
import { LockUnavailableError } from './lock.errors.js';
import type { OwnershipReply, Resource } from './resource.js';

/** How long a release, or an extension that was asked for, is tried; milliseconds. */
export const CONFIRM_TIME = 1000;

/**
 * Gives a resource back, and tries again until Redis confirms it or a second has passed.
 *
 * @param onUnconfirmed called before it throws
 * @returns the reply, and whether an earlier try may have given it back already
 * @throws LockUnavailableError when Redis did not confirm
 */
export async function confirmLeave(
  resource: Resource,
  token: string,
  commandTimeout: number,
  onUnconfirmed: () => void,
): Promise<{ readonly reply: OwnershipReply; readonly repeated: boolean }> {
  const end = performance.now() + CONFIRM_TIME;
  let repeated = false;
  for (let attempt = 1; ; attempt++) {
    const deadline = Math.min(commandTimeout, Math.max(1, end - performance.now()));
    try {
      return { reply: await resource.leave(token, '', { deadline, single: true }), repeated };
    } catch (error) {
      repeated ||= (error as { outcome?: unknown }).outcome === 'unknown';
      if (!(error instanceof RedisUnavailableError)) throw error;
      const pause = backoffDelay(attempt, { base: 20, max: 200 });
      if (error.code === 'ERR_REDIS_CLOSED' || performance.now() + pause >= end) {
        onUnconfirmed();
        throw new LockUnavailableError(resource.key, 'its release was not confirmed; it ends with its lease', error);
      }
      await sleep(pause);
    }
  }
}
