import 'reflect-metadata';
import { InvalidOptionsError, type OptionIssue } from '../../../core/errors.js';
import { decoratorsOn, type CallSite } from '../../../nest/method-decorator/index.js';
import { whereOf } from '../cache-source.js';
import type { ResolvedResponseOptions } from './response.options.js';
import { ENCODING, isPartOfKey, varyNames } from './vary.js';

/** Keys and numbers of Nest's own metadata, which are part of every compiled application. */
export const ROUTE_ARGUMENTS = '__routeArguments__';
const GET = 0;
enum Source {
  Response = 1,
  Next = 2,
  Body = 3,
  Query = 4,
  Param = 5,
  Headers = 6,
  Session = 7,
  File = 8,
  Files = 9,
  Ip = 11,
  RawBody = 12,
  Cookies = 14,
  SignedCookies = 15,
}

/** Responses that are no value, or not the handler's own. */
const OTHER_RESPONSES: readonly (readonly [metadata: string, remedy: string])[] = [
  ['__sse__', 'sends events as they come, which cannot be stored'],
  ['__redirect__', 'redirects, and only answers with 2xx are stored'],
  ['__renderTemplate__', 'renders a template; use @Cacheable on the method that gives its model'],
];

/** A header of `@Header()`. */
interface StaticHeader {
  readonly name: string;
  readonly value: string | (() => string);
}

/** A parameter of the handler that Nest fills from the request. */
interface Argument {
  readonly source: number;
  readonly name: string | undefined;
}

/**
 * Refuses what could not be cached, or would be cached wrongly, as far as the decorators of the handler tell: each thing that a
 * response depends on must be part of its key.
 *
 * @throws InvalidOptionsError naming `Class.method`
 */
export function checkHandler(options: ResolvedResponseOptions, site: CallSite, guard: unknown): void {
  const method = (site.target as Record<string | symbol, object>)[site.propertyKey]!;
  const read = (key: string): unknown => Reflect.getMetadata(key, method) as unknown;
  const issues: OptionIssue[] = [];
  const refuse = (path: string, message: string): unknown => issues.push({ path, message });

  if (!site.handlesRequests || typeof read('method') !== 'number') {
    refuse('', 'the method answers no HTTP requests; use @Cacheable');
  } else if (read('method') !== GET) {
    refuse('', 'the method is no @Get() handler: only answers to GET can be stored');
  } else if (!((read('__guards__') ?? []) as unknown[]).includes(guard)) {
    refuse('', 'its guard is lost, as a decorator above has replaced the method; write it above that one');
  }
  const decorators = decoratorsOn(site);
  if (decorators.slice(0, decorators.indexOf('@CacheResponse')).includes('@Cacheable')) {
    refuse('', '@Cacheable above it answers in its place; write @CacheResponse above, or leave @Cacheable out');
  }
  for (const [key, remedy] of OTHER_RESPONSES) if (read(key) !== undefined) refuse('', `the method ${remedy}`);
  checkVary((read('__headers__') ?? []) as StaticHeader[], options, refuse);
  for (const argument of argumentsOf(site)) checkArgument(argument, options, site, refuse);
  if (issues.length > 0) throw new InvalidOptionsError(whereOf(site), issues);
}

/** What `@Header('Vary', …)` names is known now; what a function gives is not. */
function checkVary(
  all: readonly StaticHeader[],
  options: ResolvedResponseOptions,
  refuse: (path: string, message: string) => void,
): void {
  for (const { name, value } of all) {
    if (name.toLowerCase() !== 'vary') continue;
    if (typeof value === 'function') {
      refuse('headers', "@Header('Vary', …) must be a text, as its names must be listed here");
      continue;
    }
    const missing = varyNames(value).filter((one) => one !== ENCODING && !isPartOfKey(one, options));
    if (missing.length === 0) continue;
    refuse('headers', `@Header('Vary', …) says that the response depends on ${missing.join(', ')}: list it`);
  }
}

/** Whether the handler is given the response, to set its status and headers. */
export function answersItself(site: CallSite): boolean {
  return argumentsOf(site).some(({ source }) => source === Source.Response || source === Source.Next);
}

function checkArgument(
  { source, name }: Argument,
  { scope, params, query, headers, shareAuthenticated, entry }: ResolvedResponseOptions,
  site: CallSite,
  refuse: (path: string, message: string) => void,
): void {
  const isPrivate = scope !== 'public';
  switch (source) {
    case Source.Response:
    case Source.Next:
      if (entry.stale !== undefined || entry.earlyRefresh) {
        refuse(
          '',
          "'stale' and 'earlyRefresh' run the method after the response was sent, to which @Res() could not write",
        );
      }
      if (metadataOfCall('__responsePassthrough__', site) === true) return;
      return refuse('', 'the method writes the response itself; inject it by @Res({ passthrough: true })');
    case Source.Query:
      if (name === undefined ? query !== undefined : query?.includes(name)) return;
      return refuse(
        'query',
        `the method reads ${name ?? '@Query()'}: list what the response depends on, or [] for nothing`,
      );
    case Source.Param:
      if (params === undefined || (name !== undefined && params.includes(name))) return;
      return refuse(
        'params',
        `the method reads ${name ?? '@Param()'}, so list it, or leave out 'params' for all of the path`,
      );
    case Source.Headers:
      if (name === undefined || headers.includes(name.toLowerCase())) return;
      if (isPrivate && ['authorization', 'cookie'].includes(name.toLowerCase())) return;
      return refuse(
        'headers',
        `the method reads ${name}: list it, or what the response depends on is not part of its key`,
      );
    case Source.Body:
    case Source.RawBody:
    case Source.File:
    case Source.Files:
      return refuse('', 'the method reads a body, which is not part of the key');
    case Source.Session:
    case Source.Cookies:
    case Source.SignedCookies:
    case Source.Ip:
      if (isPrivate || shareAuthenticated) return;
      return refuse('scope', "'public' is for everybody, but the method reads who asks (session, cookies, address)");
  }
}

function argumentsOf(site: CallSite): Argument[] {
  const all = (metadataOfCall(ROUTE_ARGUMENTS, site) ?? {}) as Record<string, { data?: unknown }>;
  return Object.entries(all).map(([key, { data }]) => ({
    source: Number(key.split(':')[0]),
    name: typeof data === 'string' && data !== '' ? data : undefined,
  }));
}

function metadataOfCall(key: string, { target, propertyKey }: CallSite): unknown {
  return Reflect.getMetadata(key, target.constructor, propertyKey) as unknown;
}
