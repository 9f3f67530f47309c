import { InvalidOptionsError } from './errors.js';

const GENERATORS = new Set(['[object GeneratorFunction]', '[object AsyncGeneratorFunction]']);

/** Whether calling it runs nothing of its body yet. */
export function isGenerator(fn: object): boolean {
  return GENERATORS.has(Object.prototype.toString.call(fn));
}

/**
 * Refuses what cannot handle messages, before the first one comes.
 *
 * @throws InvalidOptionsError naming `handler`
 */
export function checkHandler(handler: unknown, where: string): void {
  const message =
    typeof handler !== 'function'
      ? 'must be a function'
      : isGenerator(handler)
        ? 'is a generator, whose body nobody would run; make it an async function'
        : undefined;
  if (message !== undefined) throw new InvalidOptionsError(where, [{ path: 'handler', message }]);
}
