import 'reflect-metadata';
import { InvalidOptionsError } from '../../core/errors.js';
import { isGenerator } from '../../core/handler.js';
import { declaredName } from '../method-decorator/call-site.js';

/** A decorator that says of a method that it handles something, any number of times. */
export interface HandlerMark<Mark> {
  readonly mark: (mark: Mark) => MethodDecorator;
  /** What was said of a method, in the order of writing. */
  readonly of: (method: object) => readonly Mark[];
}

/**
 * @param decorator as it is written: `'@Subscribe'`
 * @param key of the metadata, which is on the method itself, as Nest does it: an override that is not decorated is no handler
 */
export function handlerMark<Mark>(decorator: string, key: string): HandlerMark<Mark> {
  const of = (method: object): readonly Mark[] => (Reflect.getOwnMetadata(key, method) as Mark[] | undefined) ?? [];
  const mark = (given: Mark): MethodDecorator => {
    return (target: object, name: string | symbol, descriptor: PropertyDescriptor | undefined): void => {
      const method: unknown = descriptor?.value;
      const refuse = (message: string): never => {
        throw new InvalidOptionsError(`${decorator} on ${placeOf(target, name)}`, [{ path: '', message }]);
      };
      if (typeof method !== 'function' || typeof target === 'function' || typeof name === 'symbol') {
        return refuse('is for instance methods with a text as their name; Nest calls no others');
      }
      if (isGenerator(method)) refuse('is a generator, whose body nobody would run; make it an async method');
      Reflect.defineMetadata(key, [given, ...of(method)], method);
    };
  };
  return { mark, of };
}

/** `Class.method`, also for what cannot be marked: a class, or what is static. */
function placeOf(target: object, name: string | symbol | undefined): string {
  if (typeof target !== 'function') return declaredName(target, name!);
  return name === undefined ? target.name : `${target.name}.${String(name)}`;
}

/** Whether a class has a method with one of these marks. */
export function hasMarks(owner: object, marks: readonly Pick<HandlerMark<unknown>, 'of'>[]): boolean {
  const seen = new Set<string>();
  for (
    let prototype = (owner as { prototype?: object }).prototype;
    prototype && prototype !== Object.prototype;
    prototype = Object.getPrototypeOf(prototype) as object
  ) {
    for (const name of Object.getOwnPropertyNames(prototype)) {
      // An override hides what it replaces.
      if (seen.has(name)) continue;
      seen.add(name);
      const method: unknown = Object.getOwnPropertyDescriptor(prototype, name)?.value;
      if (typeof method === 'function' && marks.some((mark) => mark.of(method).length > 0)) return true;
    }
  }
  return false;
}
