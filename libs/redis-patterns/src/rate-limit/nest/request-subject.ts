import type { ExecutionContext } from '@nestjs/common';
import { userIdOf } from '../../nest/http/user-id.js';
import type { SubjectSource } from '../policy.js';
import type { RateLimitService } from '../rate-limit.service.js';
import { RateLimitSubjectError } from '../rate-limit.errors.js';
import { clientNetwork } from './client-network.js';

/** Whose request it is. */
export interface Client {
  /** Without it, the request is none of HTTP or GraphQL. */
  readonly request: { readonly user?: unknown } | undefined;
  readonly address: string | undefined;
}

/**
 * Who a request is counted for: `ip:…`, `user:…`, or what the function says.
 *
 * @param name of the handler, for messages
 * @throws RateLimitSubjectError when it cannot be told
 */
export async function requestSubject(
  by: SubjectSource,
  name: string,
  client: Client,
  context: ExecutionContext,
  service: RateLimitService,
): Promise<string> {
  if (typeof by === 'function') return checkSubject(await by(context), name);
  const { request, address } = client;
  if (request === undefined) {
    const message = `'${by}' cannot be told from a ${context.getType<string>()} message; give 'by' as a function`;
    throw new RateLimitSubjectError(name, message);
  }
  if (by === 'user' && request.user !== undefined && request.user !== null) return userSubject(request.user, name);
  if (by === 'user') {
    service.warnOnce(
      `no-user ${name}`,
      `${name} is limited by 'user', but a request had none: it is counted by its address. Where the guard that sets the ` +
        `user is on the method, write @RateLimit above it.`,
    );
  }
  return ipSubject(address, service.options.ip.v6Prefix, name);
}

/**
 * What a `by` function gave.
 *
 * @throws RateLimitSubjectError unless it is a text that is not empty
 */
export function checkSubject(subject: unknown, where: string): string {
  if (typeof subject === 'string' && subject !== '') return subject;
  const what = subject === '' ? 'an empty text' : subject === null ? 'null' : `a value of type ${typeof subject}`;
  throw new RateLimitSubjectError(where, `'by' gave ${what}; it must name who is counted, such as 'user:42'`);
}

function userSubject(user: object, where: string): string {
  const id = userIdOf(user);
  if (id !== undefined) return `user:${id}`;
  throw new RateLimitSubjectError(where, "the user has no 'id', 'sub' or 'userId'; give 'by' as a function");
}

function ipSubject(address: string | undefined, v6Prefix: number, where: string): string {
  const network = address === undefined ? undefined : clientNetwork(address, v6Prefix);
  if (network !== undefined) return `ip:${network}`;
  throw new RateLimitSubjectError(
    where,
    "the request has no usable 'ip' (a Unix socket, or a proxy that writes something else); check 'trust proxy' and ip.trust, " +
      "or give 'by' as a function",
  );
}
