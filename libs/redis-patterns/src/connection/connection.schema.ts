import { createSecureContext, type ConnectionOptions as TlsOptions } from 'node:tls';
import { z } from 'zod';
import { InvalidOptionsError } from '../core/errors.js';
import { durationSchema, parseOptions } from '../core/options.js';
import { OWNED_IOREDIS_OPTIONS, type ConnectionOptions } from './connection.options.js';
import { parseConnectionUrl, UrlFault, type HostPort } from './connection-url.js';
import { Secret, type PasswordSource } from './secret.js';

export type Topology =
  | { readonly mode: 'standalone'; readonly host: string; readonly port: number; readonly db: number }
  | {
      readonly mode: 'sentinel';
      readonly sentinels: readonly HostPort[];
      readonly name: string;
      readonly db: number;
      readonly readFrom: 'master' | 'replica';
    }
  | { readonly mode: 'cluster'; readonly nodes: readonly HostPort[]; readonly readFrom: 'master' | 'replica' | 'all' };

type CommonOutput = z.output<ReturnType<typeof commonSchema>>;

/** Options of one connection, parsed: durations are ms, passwords are wrapped, the topology is decided. */
export interface ResolvedConnectionOptions extends Omit<
  CommonOutput,
  'password' | 'tls' | 'sentinel' | 'allowInsecureTls'
> {
  readonly topology: Topology;
  readonly password: PasswordSource | undefined;
  readonly tls: Secret<TlsOptions> | undefined;
  /** `tls: false` was said: nobody has to be warned. */
  readonly plainText: boolean;
  /** `tls: false`: the Sentinels speak plain text although the servers do not. */
  readonly sentinel: { username?: string; password?: Secret; tls?: Secret<TlsOptions> | false };
}

const MIB = 1024 * 1024;
const positive = () => z.int().min(1);
const port = () => z.int('must be a port number').min(1).max(65535);
const host = () => z.string().min(1, 'must not be empty');
const hostPort = () => z.strictObject({ host: host(), port: port() });
const tls = () => z.union([z.boolean(), z.custom<TlsOptions>((value) => typeof value === 'object' && value !== null)]);
const ioredisOptions = () =>
  z.looseObject({}).superRefine((value, context) => {
    for (const name of Object.keys(value)) {
      if (!Object.hasOwn(OWNED_IOREDIS_OPTIONS, name)) continue;
      const instead = OWNED_IOREDIS_OPTIONS[name as keyof typeof OWNED_IOREDIS_OPTIONS];
      context.addIssue({ code: 'custom', path: [name], message: `is owned by the connection layer; use ${instead}` });
    }
  });

function commonSchema() {
  return z.strictObject({
    username: z.string().min(1).optional(),
    password: z
      .union(
        [z.string(), z.custom<() => string>((value) => typeof value === 'function')],
        'must be a text, or a function that gives one',
      )
      .optional(),
    tls: tls().optional(),
    allowInsecureTls: z.boolean().default(false),
    sentinel: z
      .strictObject({ username: z.string().optional(), password: z.string().optional(), tls: tls().optional() })
      .optional(),
    purpose: z.enum(['cache', 'durable', 'any']).default('any'),
    pool: z
      .strictObject({
        size: positive().max(64).default(1),
        maxBlocking: positive().default(16),
        acquireTimeout: durationSchema({ min: 1 }).prefault('2s'),
        maxInFlight: positive().default(1000),
        maxBufferedBytes: positive().default(8 * MIB),
      })
      .prefault({}),
    connectTimeout: durationSchema({ min: 10, max: 60_000 }).prefault('2s'),
    commandTimeout: durationSchema({ min: 10, max: 60_000 }).prefault('500ms'),
    startup: z.enum(['wait', 'background', 'fail-fast']).default('wait'),
    closeTimeout: durationSchema({ min: 1 }).prefault('2s'),
    pingInterval: durationSchema({ min: 100 }).prefault('5s'),
    evictionCheck: z.enum(['warn', 'fail', 'off']).optional(),
    breaker: z
      .union([
        z.literal(false),
        z.strictObject({
          failures: positive().default(5),
          openFor: durationSchema({ min: 10 }).prefault('1s'),
        }),
      ])
      .prefault({}),
    ioredis: ioredisOptions().optional(),
  });
}

const standaloneSchema = () =>
  commonSchema().extend({
    mode: z.literal('standalone').optional(),
    host: host().default('127.0.0.1'),
    port: port().default(6379),
    db: z.int().min(0).default(0),
  });
const sentinelSchema = () =>
  commonSchema().extend({
    mode: z.literal('sentinel'),
    sentinels: z.array(hostPort()).min(1, 'needs at least one sentinel, as { host, port }'),
    name: z.string().min(1, 'must name the monitored master'),
    db: z.int().min(0).default(0),
    readFrom: z.enum(['master', 'replica']).default('master'),
  });
const clusterSchema = () =>
  commonSchema().extend({
    mode: z.literal('cluster'),
    nodes: z
      .array(z.union([nodeText(), hostPort()]))
      .min(1, "needs at least one node, as 'host:port' or { host, port }"),
    readFrom: z.enum(['master', 'replica', 'all']).default('master'),
  });

const MISSING_URL =
  "is undefined, as from a variable that is not set; give a URL such as 'redis://127.0.0.1:6379', or leave it out and give 'host' and 'port'";

type Parse = <Output>(schema: z.ZodType<Output>) => Output;

/** Splits what a mode has of its own from what all have. */
const parsers: Record<Topology['mode'], (parse: Parse) => { topology: Topology; common: CommonOutput }> = {
  standalone: (parse) => {
    const { mode: _, host, port, db, ...common } = parse(standaloneSchema());
    return { topology: { mode: 'standalone', host, port, db }, common };
  },
  sentinel: (parse) => {
    const { mode, sentinels, name, db, readFrom, ...common } = parse(sentinelSchema());
    return { topology: { mode, sentinels, name, db, readFrom }, common };
  },
  cluster: (parse) => {
    const { mode, nodes, readFrom, ...common } = parse(clusterSchema());
    return { topology: { mode, nodes, readFrom }, common };
  },
};

function nodeText() {
  return z.string().transform((text, context): HostPort => {
    const match = /^(.+):(\d{1,5})$/.exec(text);
    if (match !== null && !text.includes('/'))
      return { host: match[1]!.replace(/^\[|\]$/g, ''), port: Number(match[2]) };
    context.addIssue({ code: 'custom', message: "must be 'host:port'" });
    return z.NEVER;
  });
}

/**
 * Parses what was given as `connection` or as one of `connections`.
 *
 * @param path the option path for messages, e.g. `connections.cache`
 * @throws InvalidOptionsError naming each option and its remedy; no value is quoted
 */
export function resolveConnectionOptions(
  raw: string | ConnectionOptions,
  where: string,
  path: string,
): ResolvedConnectionOptions {
  const fail = (issuePath: string, message: string): never => {
    throw new InvalidOptionsError(where, [{ path: issuePath, message }]);
  };
  const given: Record<string, unknown> = typeof raw === 'string' ? { url: raw } : { ...raw };
  if (typeof raw !== 'string' && (typeof raw !== 'object' || raw === null)) fail(path, 'must be a URL or an object');
  if ('url' in given && given.url === undefined) fail(`${path}.url`, MISSING_URL);
  const input = given.url === undefined ? given : expandUrl(given, (message) => fail(`${path}.url`, message));
  const mode = input.mode ?? 'standalone';
  if (!isMode(mode)) return fail(`${path}.mode`, "must be 'standalone', 'sentinel' or 'cluster'");
  const { topology, common } = parsers[mode]((schema) => parseOptions(schema, input, where, path));
  const { password, tls: rawTls, allowInsecureTls, sentinel, ...rest } = common;
  const tlsOptions = toTls(rawTls);
  const sentinelTls = sentinel?.tls === false ? (false as const) : toTls(sentinel?.tls);
  for (const [name, options] of [
    ['tls', tlsOptions],
    ['sentinel.tls', sentinelTls],
  ] as const) {
    const fault = options ? tlsFault(options.reveal(), allowInsecureTls) : undefined;
    if (fault !== undefined) fail([path, name, ...fault.option].join('.'), fault.message);
  }
  return {
    ...rest,
    topology,
    password: typeof password === 'string' ? new Secret(password) : password,
    tls: tlsOptions,
    plainText: rawTls === false,
    sentinel: {
      ...(sentinel?.username === undefined ? {} : { username: sentinel.username }),
      ...(sentinel?.password === undefined ? {} : { password: new Secret(sentinel.password) }),
      ...(sentinelTls === undefined ? {} : { tls: sentinelTls }),
    },
  };
}

function isMode(mode: unknown): mode is Topology['mode'] {
  return typeof mode === 'string' && Object.hasOwn(parsers, mode);
}

function toTls(value: boolean | TlsOptions | undefined): Secret<TlsOptions> | undefined {
  if (value === undefined || value === false) return undefined;
  return new Secret({ minVersion: 'TLSv1.2', ...(value === true ? {} : value) });
}

/** What would make TLS worth less than it promises. */
function tlsFault(tls: TlsOptions, allowInsecureTls: boolean): { option: string[]; message: string } | undefined {
  if (tls.rejectUnauthorized === false && !allowInsecureTls) {
    const message =
      "accepts any certificate; give the authority as 'ca', or set 'allowInsecureTls: true' if you mean it";
    return { option: ['rejectUnauthorized'], message };
  }
  for (const option of ['minVersion', 'maxVersion'] as const) {
    if (tls[option] === 'TLSv1' || tls[option] === 'TLSv1.1') {
      return { option: [option], message: 'is a version of TLS that is broken; use TLSv1.2 or TLSv1.3' };
    }
  }
  if (tls.secureProtocol !== undefined)
    return { option: ['secureProtocol'], message: "is not supported; use 'minVersion'" };
  try {
    createSecureContext(tls);
    return undefined;
  } catch (error) {
    const message = `cannot be used (${(error as Error).message}); check 'key', 'cert', 'ca', 'pfx' and 'passphrase'`;
    return { option: [], message };
  }
}

/** Turns `url` into the options it stands for. A thing said both in the URL and beside it is a contradiction, not a choice. */
function expandUrl(given: Record<string, unknown>, fail: (message: string) => never): Record<string, unknown> {
  const { url, ...beside } = given;
  if (typeof url !== 'string') return fail('must be a text');
  const said = urlOptions(url, fail);
  for (const name of Object.keys(said)) {
    if (beside[name] === undefined || (name === 'tls' && beside.tls !== false)) continue;
    if (name === 'mode' && beside.mode === said.mode) continue;
    fail(`and '${name}' both say the same thing; give it once`);
  }
  return { ...beside, ...said, ...(beside.tls === undefined ? {} : { tls: beside.tls }) };
}

function urlOptions(url: string, fail: (message: string) => never): Record<string, unknown> {
  try {
    const { mode, tls, hosts, masterName, ...rest } = parseConnectionUrl(url);
    const common = { mode, ...rest, ...(tls ? { tls: true } : {}) };
    if (mode === 'cluster') return { ...common, nodes: hosts };
    if (mode === 'sentinel') return { ...common, sentinels: hosts, name: masterName };
    return { ...common, ...hosts[0] };
  } catch (error) {
    if (error instanceof UrlFault) return fail(error.message);
    throw error;
  }
}
