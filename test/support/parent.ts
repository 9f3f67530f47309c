/**
 * For programs that specs start with `startProgram`: their line to the spec.
 *
 * @example
 * const { connection, namespace } = programData<Setup>();
 * onParent('stop', () => app.close());
 * tellParent({ type: 'ready' });
 */
export interface Message {
  type: string;
  [field: string]: unknown;
}

/** What the spec passed as `data`. */
export function programData<T>(): T {
  return JSON.parse(process.env.REDIS_PATTERNS_PROGRAM_DATA ?? 'null') as T;
}

/** Sends a message; resolves when it has left this process, so that a crash right afterwards does not lose it. */
export function tellParent(message: Message): Promise<void> {
  return new Promise((resolve, reject) => {
    if (!process.send) return reject(new Error('This program was not started by a spec'));
    process.send(message, undefined, undefined, (error) => (error ? reject(error) : resolve()));
  });
}

/** Calls `handler` for each message of that type from the spec. */
export function onParent(type: string, handler: (message: Message) => void): void {
  process.on('message', (message: Message) => {
    if (message.type === type) handler(message);
  });
}
