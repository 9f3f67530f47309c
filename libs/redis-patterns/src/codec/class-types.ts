import { InvalidOptionsError } from '../core/errors.js';

/** A class whose instances may be stored. */
export type Class = abstract new (...args: never[]) => object;

/**
 * Classes whose instances keep their class. The own enumerable properties are stored, with the name of the class; they are
 * given back on an object with its prototype, without running the constructor. So a name that changes, for example by a
 * minifier, makes stored instances unreadable; `static readonly name = 'order'` gives one that stays.
 */
export class ClassTypes {
  readonly #names = new Map<unknown, string>();
  readonly #prototypes = new Map<string, object>();

  /** @param classes with different names, for which {@link problemOf} finds nothing */
  constructor(classes: readonly Class[] = []) {
    this.add(classes, 'ClassTypes');
  }

  /**
   * Adds classes; those that are there already stay.
   *
   * @param where what they were given to, for the error
   * @throws InvalidOptionsError when another class has the name of one of them; then none is added
   */
  add(classes: readonly Class[], where: string): void {
    for (const { name, prototype } of classes) {
      const known = this.#prototypes.get(name);
      if (known === undefined || known === prototype) continue;
      const message = `has the name '${name}' like another class in this application; rename one`;
      throw new InvalidOptionsError(where, [{ path: 'types', message }]);
    }
    for (const { name, prototype } of classes) {
      this.#names.set(prototype, name);
      this.#prototypes.set(name, prototype as object);
    }
  }

  has(type: unknown): boolean {
    return typeof type === 'function' && this.#names.has(type.prototype);
  }

  /** The name of the class that an object is a direct instance of, if it is one of these. */
  nameOf(instance: object): string | undefined {
    return this.#names.size === 0 ? undefined : this.#names.get(Object.getPrototypeOf(instance));
  }

  /** The prototype of the instances of the class of that name. */
  prototypeOf(name: string): object | undefined {
    return this.#prototypes.get(name);
  }
}

/** Index of the first class whose name an earlier one has. */
export function duplicateIn(classes: readonly Class[]): number | undefined {
  const names = new Set<string>();
  const index = classes.findIndex(({ name }) => names.size === names.add(name).size);
  return index === -1 ? undefined : index;
}

/** Why instances of a class cannot be brought back, with the remedy; `undefined` when they can. */
export function problemOf(type: unknown): string | undefined {
  if (typeof type !== 'function' || typeof type.prototype !== 'object' || type.prototype === null) {
    return 'must be a class';
  }
  if (typeof type.name !== 'string' || type.name === '') {
    return "has no name to store; give it one, for example by a static property 'name'";
  }
  for (const ancestor of ancestry(type)) {
    const source = Function.prototype.toString.call(ancestor);
    if (source.endsWith('{ [native code] }')) {
      return `is or extends the built-in ${ancestor.name}, whose inner state cannot be stored; hold one in a property instead`;
    }
    // Nobody but the constructor can create private members, and it is not run.
    if (/\bthis\.#[\w$]/.test(source)) {
      return `has private #members (in ${ancestor.name}), which cannot be stored; declare them 'private' without #, or cache a plain object`;
    }
  }
  return undefined;
}

/** The class and those it extends, without `Object`. */
function ancestry(type: Function): Function[] {
  const found = [type];
  for (let prototype = Object.getPrototypeOf(type.prototype) as object | null; prototype !== null;) {
    const next = Object.getPrototypeOf(prototype) as object | null;
    // The prototype without a further one is that of Object, in whichever realm.
    if (next !== null && typeof prototype.constructor === 'function') found.push(prototype.constructor);
    prototype = next;
  }
  return found;
}
