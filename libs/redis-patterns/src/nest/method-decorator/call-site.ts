import { isRequestHandler, ownerOf } from './request-handler.js';
import type { CallSite } from './types.js';

/** Describes a decorated method as it is reached from the class of `prototype`. */
export function describeSite(prototype: object, declaredBy: object, key: string | symbol, decorator: string): CallSite {
  const className = classNameOf(prototype);
  const methodName = methodNameOf(key);
  const owner = ownerOf(prototype, key);
  const overridden = owner !== undefined && owner !== declaredBy;
  const suffix = overridden ? `@${baseName(owner, declaredBy, key)}` : '';
  return {
    className,
    methodName,
    name: `${className}.${methodName}${suffix}`,
    target: prototype,
    propertyKey: key,
    decorator,
    handlesRequests: !overridden && isRequestHandler(prototype, key),
    overriddenHandler: overridden && isRequestHandler(declaredBy, key),
  };
}

/** `Class.method` of a method that is only being declared, for messages. */
export function declaredName(target: object, key: string | symbol): string {
  return `${classNameOf(target)}.${methodNameOf(key)}`;
}

function methodNameOf(key: string | symbol): string {
  return typeof key === 'symbol' ? `[${key.description ?? ''}]` : key;
}

/** Classes in one chain may bear the same name (`class Orders extends legacy.Orders`): then they are numbered. */
function baseName(owner: object, declaredBy: object, key: string | symbol): string {
  const name = classNameOf(declaredBy);
  let namesakes = 0;
  for (let between = parentOf(owner); between !== null && between !== declaredBy; between = parentOf(between)) {
    if (Object.hasOwn(between, key) && classNameOf(between) === name) namesakes += 1;
  }
  return namesakes === 0 ? name : `${name}#${namesakes + 1}`;
}

/** Name of the class, or of the nearest base class that has one. */
function classNameOf(prototype: object): string {
  for (let current: object | null = prototype; current !== null; current = parentOf(current)) {
    const { constructor } = current as { constructor?: unknown };
    // A class may have a static member that is called `name`.
    if (typeof constructor === 'function' && typeof constructor.name === 'string' && constructor.name !== '') {
      return current === Object.prototype ? 'AnonymousClass' : constructor.name;
    }
  }
  return 'AnonymousClass';
}

function parentOf(prototype: object): object | null {
  return Object.getPrototypeOf(prototype) as object | null;
}
