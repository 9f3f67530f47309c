import type { ExecutionContext } from '@nestjs/common';
import 'reflect-metadata';
import type { ValueCodec } from '../../../codec/index.js';
import { InvalidOptionsError } from '../../../core/errors.js';
import type { CallSite, PatternsRuntime } from '../../../nest/method-decorator/index.js';
import { CachePolicy } from '../../cache-policy.js';
import { CacheService } from '../../cache.service.js';
import { whereOf } from '../cache-source.js';
import { answersItself, checkHandler } from './check-handler.js';
import { RESPONSE_RESOURCE, ResponseKeys } from './response-key.js';
import { ResponseUse } from './response-use.js';
import { resolveResponseOptions, type ResolvedResponseOptions } from './response.options.js';

/** Owner of the resource of all responses: no region of the application may have the same keys. */
const RESPONSES = Object.freeze({});

/** What `@CacheResponse` says of one handler, made ready for requests. */
export class ResponsePlan {
  readonly cache: CacheService;
  readonly keys: ResponseKeys;
  readonly options: ResolvedResponseOptions;
  /** Milliseconds that an answer without a body stays. */
  readonly negativeTtl: number;
  /** Milliseconds. */
  readonly ttl: number;
  /** Writes a value as its entry does. */
  readonly values: ValueCodec;
  readonly #policy: CachePolicy;
  readonly #warned = new Set<string>();

  /**
   * @param guard the one that must be on the handler
   * @throws InvalidOptionsError naming `Class.method`
   */
  constructor(
    use: ResponseUse,
    runtime: PatternsRuntime,
    private readonly site: CallSite,
    guard: unknown,
  ) {
    this.options = resolveResponseOptions(use.raw, site);
    checkHandler(this.options, site, guard);
    refuseAnother(use, site);
    this.cache = runtime.engine(CacheService);
    const { entry } = this.options;
    // Nobody can write to a response that has been sent, as the handler of a background refresh would.
    const refreshes = !answersItself(site);
    const options = refreshes ? entry : { ...entry, stale: 0, earlyRefresh: false as const };
    this.#policy = CachePolicy.forEntries(options, this.cache.options, whereOf(site));
    this.ttl = this.#policy.options.ttl;
    this.negativeTtl = this.#policy.negativeTtl;
    this.values = this.cache.options.values;
    const { name, hasHost, place } = describeRoute(site);
    this.keys = new ResponseKeys(name, hasHost, this.options);
    claim(runtime, site, place);
  }

  /** @throws InvalidOptionsError when the function for them gives no tags */
  policyFor(context: ExecutionContext): CachePolicy {
    const { tagsOf } = this.options;
    return tagsOf === undefined ? this.#policy : this.#policy.withTags(tagsOf(context));
  }

  /** Each code once: it would be the same for every request. */
  warnOnce(code: `ERR_${string}`, warning: string): void {
    if (this.#warned.has(code)) return;
    this.#warned.add(code);
    this.cache.warn(code, `${whereOf(this.site)}: ${warning}`);
  }
}

/** Of two on one handler the inner one would be asked nothing. */
function refuseAnother(use: ResponseUse, site: CallSite): void {
  const { target, propertyKey } = site;
  if (ResponseUse.of((target as Record<string | symbol, object>)[propertyKey]!) === use) return;
  throw new InvalidOptionsError(whereOf(site), [{ path: '', message: 'is there twice; keep one of them' }]);
}

/** `place` is all that Nest knows of the route when the application starts. */
function describeRoute({ target, propertyKey, name }: CallSite): { name: string; hasHost: boolean; place: string } {
  const method = (target as Record<string | symbol, object>)[propertyKey]!;
  const ofClass = (key: string): unknown => Reflect.getMetadata(key, target.constructor) as unknown;
  const ofMethod = (key: string): unknown => Reflect.getMetadata(key, method) as unknown;
  const version = textOf(ofMethod('__version__') ?? ofClass('__version__'));
  // Versions may share a route, and even the names of class and method: a header then tells them apart.
  const versioned = version === '' ? name : `${name}@${version}`;
  const host = textOf(ofClass('host'));
  return {
    name: versioned,
    hasHost: host !== '',
    place: [versioned, host, textOf(ofClass('path')), textOf(ofMethod('path'))].join(' '),
  };
}

function textOf(metadata: unknown): string {
  if (metadata === undefined) return '';
  return (Array.isArray(metadata) ? metadata : [metadata]).map(String).join(',');
}

function claim(runtime: PatternsRuntime, site: CallSite, place: string): void {
  if (!runtime.claimName(`@CacheResponse ${place}`, [site.target.constructor])) {
    const message =
      'another class with this name answers the same route, and they would share responses; rename one of them';
    throw new InvalidOptionsError(whereOf(site), [{ path: '', message }]);
  }
  if (!runtime.claimName(`cache resource ${RESPONSE_RESOURCE}`, [RESPONSES])) {
    const message = `defineCache() has a resource '${RESPONSE_RESOURCE}', which belongs to @CacheResponse; rename that one`;
    throw new InvalidOptionsError(whereOf(site), [{ path: '', message }]);
  }
}
