/** What a connection URL says. Credentials leave this module wrapped; the URL itself is never quoted in an error. */
export interface ParsedUrl {
  readonly mode: 'standalone' | 'sentinel' | 'cluster';
  readonly tls: boolean;
  readonly hosts: readonly HostPort[];
  readonly username?: string;
  readonly password?: string;
  /** Sentinel only: the name of the monitored master. */
  readonly masterName?: string;
  readonly db?: number;
}

export interface HostPort {
  readonly host: string;
  readonly port: number;
}

/** `host:port`, as ioredis writes it in the slot map of a Cluster. */
export function addressOf({
  host,
  port,
}: {
  readonly host?: string | undefined;
  readonly port?: number | undefined;
}): string {
  return `${host}:${port}`;
}

/** What an address that a server names is called from here, where `natMap` says so. */
export function natMapped(natMap: unknown, address: string): HostPort | undefined {
  const given = natMap as Readonly<Record<string, HostPort>> | ((address: string) => HostPort | null) | undefined;
  return (typeof given === 'function' ? given(address) : given?.[address]) ?? undefined;
}

const FORMS =
  "use 'redis://host:6379/0', 'rediss://…' for TLS, 'redis+sentinel://host:26379,host:26379/<master name>/0' or 'redis+cluster://host:6379,host:6379'";
const URL_PATTERN = /^(redis|rediss)(?:\+(sentinel|cluster))?:\/\/(?:([^@/?#]*)@)?([^@/?#]+)(\/[^?#]*)?(?:\?([^#]*))?$/;

/** A fault in a URL, as a sentence that names the remedy and holds no part of the credentials. */
export class UrlFault extends Error {}

/**
 * Parses `redis://`, `rediss://`, `redis+sentinel://`, `redis+cluster://` (and `rediss+…`). Query parameters are refused:
 * ioredis would turn each of them into a client option.
 */
export function parseConnectionUrl(url: string): ParsedUrl {
  const match = URL_PATTERN.exec(url.trim());
  if (match === null)
    throw new UrlFault(`is not a Redis URL; ${FORMS} (percent-encode '@', '/', '?' and '#' in a password)`);
  const [, scheme, kind, userInfo, authority, path = '', query] = match;
  if (query !== undefined && query !== '') {
    // Nothing of it is quoted: after a '?' that was not encoded it is the rest of a password.
    throw new UrlFault(
      "has query parameters (what follows '?'), which are not supported; give them as options beside 'url', and percent-encode a '?' in a password as '%3F'",
    );
  }
  const mode = kind === 'sentinel' || kind === 'cluster' ? kind : 'standalone';
  const hosts = authority!.split(',').map((text) => parseHost(text, mode === 'sentinel' ? 26379 : 6379));
  if (mode === 'standalone' && hosts.length > 1) {
    throw new UrlFault(`names several hosts; use 'redis+cluster://' or 'redis+sentinel://' for more than one`);
  }
  return { mode, tls: scheme === 'rediss', hosts, ...parseUserInfo(userInfo), ...parsePath(mode, path) };
}

function parseHost(text: string, defaultPort: number): HostPort {
  const match = /^(\[[0-9a-fA-F:.]+\]|[^:[\]]+)(?::(\d+))?$/.exec(text);
  const port = match?.[2] === undefined ? defaultPort : Number(match[2]);
  if (match === null || port < 1 || port > 65535) throw new UrlFault(`has a host that is not 'host:port'; ${FORMS}`);
  return { host: match[1]!.replace(/^\[|\]$/g, ''), port };
}

function parseUserInfo(userInfo: string | undefined): Pick<ParsedUrl, 'username' | 'password'> {
  if (userInfo === undefined || userInfo === '') return {};
  const colon = userInfo.indexOf(':');
  const username = decode(colon < 0 ? userInfo : userInfo.slice(0, colon));
  const password = colon < 0 ? undefined : decode(userInfo.slice(colon + 1));
  return {
    ...(username === '' ? {} : { username }),
    ...(password === undefined || password === '' ? {} : { password }),
  };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new UrlFault(`has credentials with a '%' that is not percent-encoding; write '%25' for '%'`);
  }
}

function parsePath(mode: ParsedUrl['mode'], path: string): Pick<ParsedUrl, 'masterName' | 'db'> {
  const segments = path.split('/').filter((segment) => segment !== '');
  if (mode === 'cluster') {
    if (segments.length > 0) throw new UrlFault('has a path; Redis Cluster has database 0 only, so leave it out');
    return {};
  }
  const masterName = mode === 'sentinel' ? segments.shift() : undefined;
  if (mode === 'sentinel' && masterName === undefined) {
    throw new UrlFault("does not name the master; write 'redis+sentinel://host:26379/<master name>'");
  }
  if (masterName?.includes('@')) {
    throw new UrlFault("has an '@' in the name of the master; percent-encode '/' and '@' in a password ('%2F', '%40')");
  }
  const [db, ...rest] = segments;
  if (rest.length > 0 || (db !== undefined && !/^\d+$/.test(db))) {
    throw new UrlFault('has a path that is not a database number, such as /0');
  }
  return {
    ...(masterName === undefined ? {} : { masterName: decode(masterName) }),
    ...(db === undefined ? {} : { db: Number(db) }),
  };
}
