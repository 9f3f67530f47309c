/** Longest delay that `setTimeout` knows (about 24.8 days); it fires a longer one at once. */
const LONGEST = 2 ** 31 - 1;

/** A running timer; `clear()` stops it and may be called any number of times. */
export interface Timer {
  clear(): void;
}

/**
 * Calls back once after a time of any length; `Infinity` means never.
 *
 * @param ms milliseconds from now; 0 or less is the next turn of the event loop
 * @param keepAlive whether the timer keeps the process running; by default it does not
 *
 * @example
 * ```ts
 * const timer = startTimer(40 * 86_400_000, () => rotate()); // 40 days
 * timer.clear();
 * ```
 */
export function startTimer(ms: number, callback: () => void, { keepAlive = false } = {}): Timer {
  let handle: NodeJS.Timeout | undefined;
  const arm = (left: number): void => {
    const step = Math.min(Math.max(left, 0), LONGEST);
    handle = left > LONGEST ? setTimeout(() => arm(left - step), step) : setTimeout(callback, step);
    if (!keepAlive) handle.unref();
  };
  if (ms !== Infinity) arm(ms);
  return { clear: () => clearTimeout(handle) };
}

/** What a promise gives, or `late` when that takes longer than `ms`. @param options as of {@link startTimer} */
export function within<T, Late>(
  ms: number,
  promise: Promise<T>,
  late: Late,
  options?: { readonly keepAlive?: boolean },
): Promise<T | Late> {
  return new Promise((resolve, reject) => {
    const timer = startTimer(ms, () => resolve(late), options);
    void promise.then(resolve, reject).finally(() => timer.clear());
  });
}
