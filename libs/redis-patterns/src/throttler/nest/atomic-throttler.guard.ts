import { Injectable, type ExecutionContext } from '@nestjs/common';
import { ThrottlerGuard, type ThrottlerOptions, type ThrottlerRequest } from '@nestjs/throttler';
import { InvalidOptionsError } from '../../core/index.js';
import { RedisThrottlerStorage } from '../redis-throttler-storage.js';
import type { ThrottlerRecord } from '../throttler.types.js';

type SkipIf = (context: ExecutionContext) => boolean | Promise<boolean>;
/** What a `skipIf` said, asked before. */
type Verdict = { readonly skip: boolean } | { readonly error: unknown };

/** One request on its way through the guard. */
interface Passage {
  readonly verdicts: ReadonlyMap<string, Verdict>;
  /** What is due, with limits and times resolved. */
  readonly due: ThrottlerRequest[];
}

/** A limit with the hit on it. */
interface Claim extends ThrottlerRequest {
  readonly tracker: string;
  readonly key: string;
  readonly name: string;
}

/**
 * The `ThrottlerGuard` for several named limits: asks for all of them in one call, and counts the request for each or for none, so that
 * one refused by `long` does not use up `short`. A refusal also has the plain `Retry-After`, of the longest wait. `skipIf` may be
 * asynchronous. All else is as in `ThrottlerGuard`; its methods can be overridden (`handleRequest` ends the one call).
 *
 * Limits of a request are one script if their keys are equal, as they are without `generateKey` and `getTracker` for single limits. With
 * different keys a refusal takes the other hits back.
 *
 * @example
 * ```ts
 * providers: [{ provide: APP_GUARD, useClass: AtomicThrottlerGuard }]
 * ```
 */
@Injectable()
export class AtomicThrottlerGuard extends ThrottlerGuard {
  readonly #passages = new WeakMap<ExecutionContext, Passage>();
  readonly #skipIfs = new Map<string, SkipIf>();

  /** @throws InvalidOptionsError when the storage is another one, or two limits have one name */
  override async onModuleInit(): Promise<void> {
    await super.onModuleInit();
    const names = this.throttlers.map(nameOf);
    const twice = names.find((name, index) => names.indexOf(name) !== index);
    if (twice !== undefined) {
      const message = `two are named '${twice}' and would be counted together; give each a name of its own`;
      throw new InvalidOptionsError('AtomicThrottlerGuard', [{ path: 'throttlers', message }]);
    }
    this.#storage();
    // The base calls `skipIf` and does not wait: it gets what was asked before, when it asks.
    this.throttlers = this.throttlers.map((throttler) => {
      const skipIf = throttler.skipIf ?? this.commonOptions.skipIf;
      if (skipIf === undefined) return throttler;
      const name = nameOf(throttler);
      this.#skipIfs.set(name, skipIf);
      return { ...throttler, skipIf: (context) => told(this.#passages.get(context)?.verdicts.get(name)) };
    });
  }

  /**
   * @throws ThrottlerException (429) when a limit has no room
   * @throws RateLimitUnavailableError (503) when Redis cannot decide and `rateLimit.onStoreError` is `'closed'`
   */
  override async canActivate(context: ExecutionContext): Promise<boolean> {
    const due: ThrottlerRequest[] = [];
    this.#passages.set(context, { verdicts: await this.#ask(context), due });
    const passes = await super.canActivate(context);
    if (due.length > 0) await this.#decide(context, due);
    return passes;
  }

  /** Only notes what is due; {@link canActivate} asks for all of it. */
  protected override async handleRequest(request: ThrottlerRequest): Promise<boolean> {
    const passage = this.#passages.get(request.context);
    // A subclass that does not begin with `canActivate` of this class.
    if (passage === undefined) return super.handleRequest(request);
    passage.due.push(request);
    return true;
  }

  /** Without the name, which the storage adds: equal keys can be asked for in one call. */
  protected override generateKey(context: ExecutionContext, suffix: string, _name: string): string {
    return `${context.getClass().name}-${context.getHandler().name}-${suffix}`;
  }

  async #ask(context: ExecutionContext): Promise<ReadonlyMap<string, Verdict>> {
    const verdicts = new Map<string, Verdict>();
    for (const [name, skipIf] of this.#skipIfs) {
      try {
        verdicts.set(name, { skip: await skipIf(context) });
      } catch (error) {
        // Not thrown yet: `@SkipThrottle` may say that nobody asks.
        verdicts.set(name, { error });
      }
    }
    return verdicts;
  }

  async #decide(context: ExecutionContext, due: readonly ThrottlerRequest[]): Promise<void> {
    const { req, res } = this.getRequestResponse(context) as {
      req: Record<string, unknown>;
      res: Record<string, unknown> | undefined;
    };
    const claims: Claim[] = [];
    for (const request of due) {
      if (this.#isIgnored(request.throttler, req)) continue;
      const name = nameOf(request.throttler);
      const tracker = await request.getTracker(req, context);
      claims.push({ ...request, name, tracker, key: request.generateKey(context, tracker, name) });
    }
    const records = await this.#storage().incrementAll(
      claims.map(({ key, ttl, limit, blockDuration, name }) => ({
        key,
        ttl,
        limit,
        blockDuration,
        throttlerName: name,
      })),
    );
    // Messages and some GraphQL contexts have no response; the limit holds all the same.
    if (res) this.#setHeaders(res, claims, records);
    const index = records.findIndex(({ isBlocked }) => isBlocked);
    if (index < 0) return;
    const { limit, ttl, key, tracker } = claims[index]!;
    await this.throwThrottlingException(context, { ...records[index]!, limit, ttl, key, tracker });
  }

  #setHeaders(
    res: Record<string, unknown>,
    claims: readonly Claim[],
    records: readonly Readonly<ThrottlerRecord>[],
  ): void {
    let longest = 0;
    claims.forEach(({ throttler, name, limit }, index) => {
      if (!(throttler.setHeaders ?? this.commonOptions.setHeaders ?? true)) return;
      const { isBlocked, timeToBlockExpire, totalHits, timeToExpire } = records[index]!;
      const suffix = name === 'default' ? '' : `-${name}`;
      if (isBlocked) {
        longest = Math.max(longest, timeToBlockExpire);
        this.setResponseHeader(res, `Retry-After${suffix}`, timeToBlockExpire);
        return;
      }
      this.setResponseHeader(res, `${this.headerPrefix}-Limit${suffix}`, limit);
      this.setResponseHeader(res, `${this.headerPrefix}-Remaining${suffix}`, Math.max(0, limit - totalHits));
      this.setResponseHeader(res, `${this.headerPrefix}-Reset${suffix}`, timeToExpire);
    });
    if (longest > 0) this.setResponseHeader(res, 'Retry-After', longest);
  }

  #isIgnored({ ignoreUserAgents = this.commonOptions.ignoreUserAgents }: ThrottlerOptions, req: object): boolean {
    if (!Array.isArray(ignoreUserAgents)) return false;
    const agent = (req as { headers?: Record<string, string | undefined> }).headers?.['user-agent'];
    return agent !== undefined && ignoreUserAgents.some((pattern) => pattern.test(agent));
  }

  #storage(): RedisThrottlerStorage {
    if (this.storageService instanceof RedisThrottlerStorage) return this.storageService;
    const message = 'is another one; register RedisThrottlerModule in place of ThrottlerModule, or use ThrottlerGuard';
    throw new InvalidOptionsError('AtomicThrottlerGuard', [{ path: 'storage', message }]);
  }
}

function nameOf({ name = 'default' }: ThrottlerOptions): string {
  return name;
}

function told(verdict: Verdict | undefined): boolean {
  if (verdict === undefined) return false;
  if ('error' in verdict) throw verdict.error;
  return verdict.skip;
}
