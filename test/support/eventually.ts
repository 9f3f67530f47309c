import { until } from '../../scripts/servers/wait.mjs';

/**
 * Repeats `check` until it neither throws nor returns `false`, and returns what it returned. So it takes expectations
 * as well as conditions.
 *
 * @param check an expectation that throws, or a condition
 * @param options milliseconds; 5 s and 20 ms by default
 * @throws the last failure, once the time is over
 * @example
 * await eventually(async () => expect(await admin.client.exists(key)).toBe(0));
 */
export async function eventually<T>(
  check: () => Promise<T> | T,
  {
    timeout = 5000,
    interval = 20,
    what = 'the condition',
  }: { timeout?: number; interval?: number; what?: string } = {},
): Promise<T> {
  let failure: unknown;
  const attempt = async (): Promise<{ value: T } | false> => {
    try {
      const value = await check();
      failure = undefined;
      return value === false ? false : { value };
    } catch (error) {
      failure = error;
      return false;
    }
  };
  try {
    return (await until(what, attempt, { timeout, interval })).value;
  } catch (error) {
    throw failure ?? error;
  }
}
