/** How a vote stands: what those said who agree, and who do not, and why others could not be asked. */
export interface Vote<T> {
  readonly yes: readonly T[];
  readonly no: readonly T[];
  readonly failures: readonly unknown[];
}

/** The smallest number of nodes of which any two sets have a node in common. */
export function quorumOf(nodes: number): number {
  return Math.floor(nodes / 2) + 1;
}

/**
 * Waits until a quorum agrees, or cannot agree any more: a slow node delays nothing that does not depend on it.
 *
 * @param asked one promise for each node; each must settle
 */
export function vote<T>(asked: readonly Promise<T>[], agrees: (reply: T) => boolean): Promise<Vote<T>> {
  const quorum = quorumOf(asked.length);
  const yes: T[] = [];
  const no: T[] = [];
  const failures: unknown[] = [];
  return new Promise((resolve) => {
    const count = (): void => {
      const possible = asked.length - no.length - failures.length;
      // A copy: replies go on coming.
      if (yes.length >= quorum || possible < quorum) {
        resolve({ yes: [...yes], no: [...no], failures: [...failures] });
      }
    };
    for (const reply of asked) {
      reply.then(
        (value) => {
          (agrees(value) ? yes : no).push(value);
          count();
        },
        (error: unknown) => {
          failures.push(error);
          count();
        },
      );
    }
  });
}
