/** Keys of each kind: enough to reach every node of a Cluster. */
export const KEYS = 12;

/** The nth list that one run of the load appends to; its tokenised writes have one of their own. */
export function listKey(namespace: string, run: number, n: number): string {
  return `${namespace}:written:${run}:${n % KEYS}`;
}

export function tokenListKey(namespace: string, run: number, n: number): string {
  return `{${listKey(namespace, run, n)}}:token`;
}

/** Key n holds n, or nothing. */
export function readKey(namespace: string, n: number): string {
  return `${namespace}:read:${n % KEYS}`;
}

export function streamKey(namespace: string): string {
  return `${namespace}:stream:s`;
}
