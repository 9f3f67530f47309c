import { startTimer } from './timer.js';

/**
 * The result of a promise, unless the signal aborts first. The work itself goes on; a later failure of it is swallowed.
 *
 * @throws `signal.reason`, at once if the signal has aborted already, else whatever the promise rejects with
 *
 * @example
 * ```ts
 * const value = await raceSignal(load(), request.signal);
 * ```
 */
export function raceSignal<T>(promise: PromiseLike<T>, signal?: AbortSignal): Promise<T> {
  if (signal === undefined) return Promise.resolve(promise);
  if (signal.aborted) {
    promise.then(undefined, () => {});
    return Promise.reject(signal.reason as Error);
  }
  return new Promise<T>((resolve, reject) => {
    const stop = onAbort(signal, reject);
    promise.then(
      (value) => {
        stop();
        resolve(value);
      },
      (error: unknown) => {
        stop();
        reject(error as Error);
      },
    );
  });
}

/**
 * Waits. Does not keep the process running.
 *
 * @param ms milliseconds, of any length
 * @throws `signal.reason` when the signal aborts
 *
 * @example
 * ```ts
 * await sleep(backoffDelay(attempt, { base: 10, max: 1_000 }), signal);
 * ```
 */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted === true) return Promise.reject(signal.reason as Error);
  return new Promise((resolve, reject) => {
    const stop = onAbort(signal, (reason) => {
      timer.clear();
      reject(reason as Error);
    });
    const timer = startTimer(ms, () => {
      stop();
      resolve();
    });
  });
}

interface Waiting {
  readonly callbacks: Set<() => void>;
  readonly listener: () => void;
}

const waiting = new WeakMap<AbortSignal, Waiting>();

/**
 * Calls back once when the signal aborts, at once if it has already.
 *
 * However many wait, a signal carries one listener: Node warns of a leak from the eleventh, and a signal that means "the
 * application stops" may be given to a thousand calls at a time.
 *
 * @returns stops waiting; a callback left on a signal that lives as long as the process is a leak
 */
export function onAbort(signal: AbortSignal | undefined, callback: (reason: unknown) => void): () => void {
  if (signal === undefined) return () => {};
  const notify = (): void => callback(signal.reason);
  if (signal.aborted) {
    notify();
    return () => {};
  }
  const { callbacks, listener } = waiting.get(signal) ?? listen(signal);
  callbacks.add(notify);
  return () => {
    if (!callbacks.delete(notify) || callbacks.size > 0) return;
    waiting.delete(signal);
    signal.removeEventListener('abort', listener);
  };
}

function listen(signal: AbortSignal): Waiting {
  const callbacks = new Set<() => void>();
  const entry = { callbacks, listener: () => callbacks.forEach((notify) => notify()) };
  waiting.set(signal, entry);
  signal.addEventListener('abort', entry.listener, { once: true });
  return entry;
}
