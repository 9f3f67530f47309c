import type { RateLimitService } from '../rate-limit.service.js';
import { clientNetwork } from './client-network.js';
import type { ClientRequest } from './client-request.js';

/** All bits of an address: one spelling of it, without a zone. */
const WHOLE = 128;

/**
 * The address of the client: what the framework says, or with `ip.trust` the nearest one that is no proxy of ours. What comes
 * behind `unknown` and the like is not looked at: the proxy that wrote it counts. `undefined` when it cannot be told.
 */
export function clientAddress(request: ClientRequest | undefined, service: RateLimitService): string | undefined {
  if (request === undefined) return undefined;
  const { trust } = service.options.ip;
  const peer = plainAddress((request.raw ?? request).socket?.remoteAddress);
  if (trust === undefined) {
    const address = plainAddress(request.ip);
    if (address !== undefined && address === peer && isForwarded(request)) warnOfProxy(service);
    return address;
  }
  let address = peer;
  for (const hop of forwardedFor(request).toReversed()) {
    if (address === undefined || !trust.hasAddress(address)) break;
    const next = plainAddress(withoutPort(hop));
    if (next === undefined) {
      warnOfHop(service);
      break;
    }
    address = next;
  }
  return address;
}

function plainAddress(address: unknown): string | undefined {
  return typeof address === 'string' ? clientNetwork(address, WHOLE) : undefined;
}

function isForwarded({ headers }: ClientRequest): boolean {
  return headers?.['x-forwarded-for'] !== undefined || headers?.['forwarded'] !== undefined;
}

function forwardedFor({ headers }: ClientRequest): string[] {
  const given = headers?.['x-forwarded-for'];
  if (given === undefined) return [];
  return (Array.isArray(given) ? given.join(',') : given)
    .split(',')
    .map((hop) => hop.trim())
    .filter((hop) => hop !== '');
}

/** Some proxies write `192.0.2.1:4711` and `[2001:db8::1]:4711`. */
function withoutPort(hop: string): string {
  return hop.replace(/^\[(.*)\](?::\d+)?$/, '$1').replace(/^([\d.]+):\d+$/, '$1');
}

function warnOfHop(service: RateLimitService): void {
  service.warnOnce(
    'hop',
    'A header X-Forwarded-For has something else than an address where that of a client should be: such requests are counted by ' +
      'the address of the proxy that they came through.',
  );
}

function warnOfProxy(service: RateLimitService): void {
  service.warnOnce(
    'proxy',
    'A request has a header X-Forwarded-For or Forwarded, but this application trusts no proxy: behind one, all clients are ' +
      "counted as a single one. Set 'trust proxy' (Express), 'trustProxy' (Fastify) or rateLimit.ip.trust; without a proxy " +
      'somebody has made the header up, and it is ignored.',
  );
}
