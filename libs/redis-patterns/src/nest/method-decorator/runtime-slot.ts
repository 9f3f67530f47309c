import { Inject, Optional } from '@nestjs/common';
import 'reflect-metadata';
import { NotBoundError } from '../../core/errors.js';

/** Injection token of the application's `PatternsRuntime`. */
export const PATTERNS_RUNTIME: unique symbol = Symbol.for('nestjs-redis-patterns:runtime');

/** Hidden property of a decorated object that holds its runtime. */
const SLOT: unique symbol = Symbol.for('nestjs-redis-patterns:runtime-slot');

interface Slotted {
  [SLOT]?: unknown;
}

/**
 * Has Nest hand its runtime to the instances of a class, where there is one to see: an optional property injection, so
 * that a class still boots where the module is not imported, and module visibility and overrides apply as for any other
 * dependency. Request-scoped, transient and inheriting classes are served by the same injection.
 */
export function injectRuntime(prototype: object): void {
  // A base class, or another decorator of this class, has asked already.
  if (SLOT in prototype) return;
  Object.defineProperty(prototype, SLOT, slotAccessor());
  Inject(PATTERNS_RUNTIME)(prototype, SLOT);
  Optional()(prototype, SLOT);
}

/** What was injected into the object: usually a `PatternsRuntime`, in tests perhaps an automatic mock. */
export function injectedRuntime(instance: object): unknown {
  return (instance as Slotted)[SLOT];
}

/**
 * Binds an object to a runtime, whether or not Nest has constructed it.
 *
 * @throws NotBoundError when the object is frozen in a way that leaves no place for it
 */
export function bindRuntime(instance: object, runtime: object): void {
  if (store(instance, runtime)) return;
  if (!(SLOT in instance) || Object.hasOwn(instance, SLOT)) {
    throw new NotBoundError(
      `A frozen ${instance.constructor.name} that is bound already, or has no decorated methods of its own, cannot be ` +
        `bound; bind it before it is frozen.`,
    );
  }
  (instance as Slotted)[SLOT] = runtime;
}

/**
 * The value is kept as a property of the instance itself (shadowing the accessor, which keeps a call at one property
 * read): proxies that tracing tools put around a provider pass property access on, while a map keyed by instance would
 * not know the proxy.
 */
function slotAccessor(): PropertyDescriptor {
  const frozen = new WeakMap<object, unknown>();
  return {
    configurable: true,
    get(this: object): unknown {
      return frozen.get(this);
    },
    set(this: object, value: unknown): void {
      if (!store(this, value)) frozen.set(this, value);
    },
  };
}

function store(instance: object, value: unknown): boolean {
  return Reflect.defineProperty(instance, SLOT, { value, enumerable: false, writable: true, configurable: true });
}
