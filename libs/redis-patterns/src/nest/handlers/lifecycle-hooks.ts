type Hook = (...args: unknown[]) => unknown;
type Hooked = Record<string, Hook | undefined>;
type HookName = 'onApplicationBootstrap' | 'onModuleDestroy';

/** Runs `action` to its end after the hook of the first of these objects that can be given one. */
export function runAfter(
  objects: readonly (object | undefined)[],
  name: HookName,
  action: () => void | Promise<void>,
): void {
  replaceHook(objects, name, (original, self) => async (...args) => {
    await original?.apply(self, args);
    await action();
  });
}

/** Runs `action` to its end before the hook of the first of these objects that can be given one. */
export function runBefore(objects: readonly (object | undefined)[], name: HookName, action: () => Promise<void>): void {
  replaceHook(objects, name, (original, self) => async (...args) => {
    await action();
    await original?.apply(self, args);
  });
}

/** An own property that cannot be seen in loops and logs; a frozen object takes none, and the next one is asked. */
function replaceHook(
  objects: readonly (object | undefined)[],
  name: HookName,
  make: (original: Hook | undefined, self: object) => Hook,
): void {
  for (const object of objects) {
    if (object === undefined || object === null) continue;
    const value = make((object as Hooked)[name], object);
    if (Reflect.defineProperty(object, name, { value, enumerable: false, configurable: true, writable: true })) return;
  }
}
