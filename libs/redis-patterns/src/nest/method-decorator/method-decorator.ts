import 'reflect-metadata';
import { declaredName } from './call-site.js';
import { Decoration } from './decoration.js';
import { DecoratedMethodError } from './method-decorator.errors.js';
import { injectRuntime } from './runtime-slot.js';
import type { CallSite, MethodPattern } from './types.js';

/** Metadata of a prototype: the decorations of its own methods, outermost first. */
const DECORATIONS = Symbol.for('nestjs-redis-patterns:decorations');

/**
 * Makes a method decorator of a pattern. It wraps the method where it is declared, so that it works for every way of
 * calling it: from outside, by `this.method()`, by `super.method()`, bound in a constructor, before or after the boot.
 *
 * Several of them on one method compose: the one written first is the outermost.
 *
 * @throws DecoratedMethodError while the class is being defined, on what is not an instance method
 *
 * @example
 * ```ts
 * const timed: MethodPattern<{ label: string }> = {
 *   decorator: '@Timed',
 *   observable: 'stream',
 *   bind: (raw, runtime) => async (call) => {
 *     const started = performance.now();
 *     try {
 *       return await call.proceed();
 *     } finally {
 *       runtime.engine(Timings).record(raw.label, performance.now() - started);
 *     }
 *   },
 * };
 * export const Timed = (label: string): AsyncMethodDecorator => decorateMethod(timed, { label });
 * ```
 */
export function decorateMethod<Raw>(
  pattern: MethodPattern<Raw>,
  raw: Raw,
): (target: object, key: string | symbol, descriptor: PropertyDescriptor) => void {
  return (target, key, descriptor) => {
    const original = instanceMethod(pattern.decorator, target, key, descriptor);
    const others = (Reflect.getOwnMetadata(DECORATIONS, target) ?? []) as readonly Decoration[];
    if (pattern.onlyOnce === true && others.some((one) => one.key === key && one.pattern === pattern)) {
      throw new DecoratedMethodError(
        `${pattern.decorator} stands twice on ${declaredName(target, key)}, and a method has one. Leave one of them out, or ` +
          `put it on a method that this one calls.`,
      );
    }
    const decoration = new Decoration(pattern, raw, target, key, original);
    // The descriptor is changed, as applyDecorators() ignores what a decorator returns.
    descriptor.value = wrap(original, decoration);
    injectRuntime(target);
    Reflect.defineMetadata(DECORATIONS, [decoration, ...others], target);
  };
}

/** The decorations that instances of a class can meet: of its own methods, of inherited ones, and of overridden ones. */
export function decorationsOf(prototype: object): readonly Decoration[] {
  const found: Decoration[] = [];
  for (
    let current: object | null = prototype;
    current !== null;
    current = Object.getPrototypeOf(current) as object | null
  ) {
    found.push(...((Reflect.getOwnMetadata(DECORATIONS, current) ?? []) as readonly Decoration[]));
  }
  return found;
}

/**
 * A proxy rather than a function, so that name, length and properties of the method stay its own. Metadata that decorators
 * below have written (routes, guards, param decorators) is copied, as Reflect keeps it by identity; decorators above write
 * theirs to the proxy.
 */
function wrap(original: (...args: unknown[]) => unknown, decoration: Decoration): unknown {
  const wrapper = new Proxy(original, {
    apply: (_original, instance: unknown, args: unknown[]) => decoration.invoke(instance, args),
  });
  for (const key of Reflect.getOwnMetadataKeys(original) as unknown[]) {
    Reflect.defineMetadata(key, Reflect.getOwnMetadata(key, original), wrapper);
  }
  return wrapper;
}

/**
 * The method that a decorator stands on.
 *
 * @param decorator as it is written: `'@Cacheable'`
 * @param descriptor what the compiler gave; a number for a parameter
 * @throws DecoratedMethodError on anything but an instance method
 */
export function instanceMethod(
  decorator: string,
  target: object,
  key: unknown,
  descriptor: PropertyDescriptor | number | undefined,
): (...args: unknown[]) => unknown {
  const refuse = (what: string): never => {
    throw new DecoratedMethodError(`${decorator} ${what}`);
  };
  if (typeof key === 'object' && key !== null) {
    return refuse(`needs the decorators that NestJS uses: compile with "experimentalDecorators": true.`);
  }
  if (key === undefined) return refuse(`cannot be used on the class ${nameOf(target)}. Decorate its methods.`);
  const name = key as string | symbol;
  if (typeof descriptor === 'number') {
    return refuse(`cannot be used on a parameter of ${declaredName(target, name)}. Decorate the method.`);
  }
  if (typeof target === 'function') {
    return refuse(
      `cannot be used on the static method ${target.name}.${String(name)}: it belongs to no application. ` +
        `Make it an instance method of a provider.`,
    );
  }
  const method: unknown = descriptor?.value;
  if (typeof method === 'function') return method as (...args: unknown[]) => unknown;
  const what = descriptor === undefined ? 'a property' : 'an accessor';
  return refuse(`cannot be used on ${declaredName(target, name)}, which is ${what}. Make it a method.`);
}

/** The decorators of this library on a method where it is declared, outermost first: `['@WithLock', '@Cacheable']`. */
export function decoratorsOn({ target, propertyKey }: CallSite): string[] {
  const all = decorationsOf(target).filter(({ key }) => key === propertyKey);
  return all.filter((one) => one.target === all[0]!.target).map(({ pattern }) => pattern.decorator);
}

function nameOf(target: object): string {
  return typeof target === 'function' ? target.name : 'it stands on';
}
