import { randomBytes, randomUUID } from 'node:crypto';
import { hostname } from 'node:os';

/** Who this is among all that take leases. */
export class Identity {
  /** Host, process id and a random number. */
  readonly id = `${hostname().replaceAll(/[^\w.-]/g, '_')}-${process.pid}-${randomBytes(4).toString('hex')}`;

  /** A token that no other acquisition has; its first part tells people whose it is, and scripts which channel wakes it. */
  newToken(): string {
    return `${this.id}|${randomUUID()}`;
  }
}

/** The first part of a token. */
export function ownerOf(token: string): string {
  return token.slice(0, Math.max(0, token.indexOf('|')));
}

/**
 * An acquisition in a queue: scripts read from it whom to hand the lease over to, and for how long.
 *
 * @param kind what scripts have to know besides
 */
export function waiterId(token: string, leaseMs: number, kind: string): string {
  return `${token}|${leaseMs}|${kind}`;
}
