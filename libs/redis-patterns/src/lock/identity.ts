import { randomBytes, randomUUID } from 'node:crypto';
import { hostname } from 'node:os';

/** Who this is among all that take leases. */
export class Identity {
  /** Host, process id and a random number. */
  readonly id = `${hostname().replaceAll(/[^\w.-]/g, '_')}-${process.pid}-${randomBytes(4).toString('hex')}`;
  #waiters = 0;

  /** A token that no other acquisition has; its first part tells people whose it is. */
  newToken(): string {
    return `${this.id}.${randomUUID()}`;
  }

  /** `<id>|<number>|<kind>`: the part before the first bar names the channel that wakes it. */
  newWaiter(kind: string): string {
    return `${this.id}|${++this.#waiters}|${kind}`;
  }
}

/** The first part of a token. */
export function ownerOf(token: string): string {
  return token.slice(0, Math.max(0, token.lastIndexOf('.')));
}
