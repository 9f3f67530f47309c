import { setTimeout as delay } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import {
  CacheService,
  LockService,
  RateLimitService,
  RedisConnections,
  SessionService,
  StreamAdmin,
  type CacheStats,
  type ConnectionStats,
  type StreamLag,
} from 'nestjs-redis-patterns';
import { FULFILMENT } from '../fulfilment/fulfilment.consumer.js';
import { orderEvents } from '../orders/order.js';
import { orderPolicy } from '../orders/orders.controller.js';
import { freezable, throwaway } from '../redis/connection.js';
import { SalesService } from '../sales/sales.service.js';
import { STOCKTAKING } from '../stocktaking/stocktaking.js';
import { VisitsService } from '../visits/visits.service.js';
import { LoadTimes } from './load-times.js';
import { BUYER, STAMPEDED, USER } from './subjects.js';

/** Milliseconds that a figure is waited for: one that Redis does not give in time is left out of this look. */
const PATIENCE = 300;

/** What the dashboard shows; `null` is what Redis did not answer in time. */
export interface Snapshot {
  readonly worker: number;
  readonly at: string;
  readonly throwaway: boolean;
  readonly freezable: boolean;
  /** From memory, like `cache`: known also while Redis is not there. */
  readonly connection: ConnectionStats;
  /** `hitRatio` is undefined before the first read, `lastLoadMs` before the first load. */
  readonly cache: CacheStats & { readonly hitRatio: number | undefined; readonly lastLoadMs: number | undefined };
  readonly limiter: { readonly limit: number; readonly remaining: number; readonly resetAfterMs: number } | null;
  readonly lock: {
    readonly owner: string | undefined;
    readonly fence: string | undefined;
    readonly remainingMs: number;
    readonly waiting: number;
  } | null;
  readonly stream: StreamLag | null;
  /** Open sessions of the dashboard's own user. */
  readonly sessions: number | null;
  readonly bestSellers: readonly { readonly name: string; readonly sold: number }[] | null;
  /** Of the product that is stampeded, in the last seven days. */
  readonly visits: { readonly views: number; readonly visitors: number } | null;
}

/** Looks at the shop through the same services that it works with. */
@Injectable()
export class SnapshotService {
  constructor(
    private readonly connections: RedisConnections,
    private readonly cache: CacheService,
    private readonly loads: LoadTimes,
    private readonly limits: RateLimitService,
    private readonly locks: LockService,
    private readonly streams: StreamAdmin,
    private readonly sessions: SessionService,
    private readonly sales: SalesService,
    private readonly visits: VisitsService,
  ) {}

  async take(): Promise<Snapshot> {
    const [limiter, lock, stream, sessions, bestSellers, visits] = await Promise.all([
      inTime(this.#limiter()),
      inTime(this.#lock()),
      inTime(this.streams.lag(orderEvents, FULFILMENT)),
      inTime(this.sessions.listByPrincipal(USER).then(({ length }) => length)),
      inTime(this.#bestSellers()),
      inTime(this.#visits()),
    ]);
    return {
      worker: process.pid,
      at: new Date().toISOString(),
      throwaway: throwaway(),
      freezable: freezable(),
      // Last, so that they tell how it is now and not how it was before the others were waited for.
      connection: this.connections.stats(),
      cache: this.#cache(),
      limiter,
      lock,
      stream: stream ?? null,
      sessions,
      bestSellers,
      visits,
    };
  }

  #cache(): Snapshot['cache'] {
    const stats = this.cache.stats();
    const hits = stats.hits + stats.l1Hits + stats.staleHits;
    const reads = hits + stats.misses;
    return { ...stats, hitRatio: reads === 0 ? undefined : hits / reads, lastLoadMs: this.loads.last };
  }

  async #limiter(): Promise<Snapshot['limiter']> {
    const { limit, remaining, resetAfterMs } = await this.limits.peek(orderPolicy, `client:${BUYER}`);
    return { limit, remaining, resetAfterMs };
  }

  async #lock(): Promise<Snapshot['lock']> {
    const info = await this.locks.inspect(STOCKTAKING);
    if (info === null) return { owner: undefined, fence: undefined, remainingMs: 0, waiting: 0 };
    const { owner, fence, remainingMs, waiting } = info;
    return { owner, fence: fence === undefined ? undefined : String(fence), remainingMs, waiting };
  }

  async #bestSellers(): Promise<Snapshot['bestSellers']> {
    const entries = await this.sales.bestSellers();
    return entries.slice(0, 5).map(({ member, score, data }) => ({ name: data?.name ?? member, sold: score }));
  }

  async #visits(): Promise<Snapshot['visits']> {
    const { views, visitors } = await this.visits.of(STAMPEDED);
    return { views: views.reduce((sum, { value }) => sum + value, 0), visitors: visitors.value };
  }
}

/** The dashboard tells of a Redis that does not answer: it must not wait for it itself. */
function inTime<T>(figure: Promise<T>): Promise<T | null> {
  return Promise.race([figure.catch(() => null), delay(PATIENCE, null, { ref: false })]);
}
