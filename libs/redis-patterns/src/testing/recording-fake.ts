/** One call of a fake. */
export interface RecordedCall {
  readonly method: string;
  readonly args: readonly unknown[];
}

type Answers<Service> = { [Method in keyof Service]?: unknown };

/**
 * A stand-in for a service that records what is asked of it: for tests of what an application does with an answer, whatever
 * state that answer would need. Methods without an answer give a promise of `undefined`.
 *
 * @param answers by method: a function is called with the arguments, anything else is what the promise gives
 *
 * @example
 * ```ts
 * const limits = recordingFake<RateLimitService>({ consume: { allowed: false, retryAfterMs: 1000 } });
 * const module = Test.createTestingModule({ providers: [Api, { provide: RateLimitService, useValue: limits.service }] });
 * expect(limits.calls).toEqual([{ method: 'consume', args: ['api', 'user:1'] }]);
 * ```
 */
export function recordingFake<Service extends object>(
  answers: Answers<Service> = {},
): { readonly service: Service; readonly calls: RecordedCall[] } {
  const calls: RecordedCall[] = [];
  const service = new Proxy({} as Service, {
    get: (_, method) => {
      // Nest and promises look for these.
      if (
        typeof method !== 'string' ||
        method === 'then' ||
        /^on(Module|Application)|^beforeApplication/.test(method)
      ) {
        return undefined;
      }
      return (...args: unknown[]): unknown => {
        calls.push({ method, args });
        const answer: unknown = answers[method as keyof Service];
        return typeof answer === 'function'
          ? (answer as (...all: unknown[]) => unknown)(...args)
          : Promise.resolve(answer);
      };
    },
  });
  return { service, calls };
}
