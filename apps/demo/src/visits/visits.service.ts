import { Injectable, Logger } from '@nestjs/common';
import { CounterService, UniqueCounterService, type BucketCount, type UniqueCount } from 'nestjs-redis-patterns';

/** One key for each day: `shop:counter:{views:42}:2026-11-30`. */
const DAILY = { bucket: 'day', ttl: '30d' } as const;

@Injectable()
export class VisitsService {
  readonly #logger = new Logger(VisitsService.name);

  constructor(
    private readonly counters: CounterService,
    private readonly unique: UniqueCounterService,
  ) {}

  /** Nobody waits for it, and a page is shown whether it was counted or not. */
  count(productId: number, visitor: string): void {
    const counted = [
      this.counters.incr(['views', productId], DAILY),
      this.unique.counter(['visitors', productId], DAILY).add(visitor),
    ];
    void Promise.all(counted).catch((error: Error) => this.#logger.warn(`A visit was not counted: ${error.message}`));
  }

  async of(productId: number): Promise<{ views: BucketCount[]; visitors: UniqueCount }> {
    const [views, visitors] = await Promise.all([
      this.counters.range(['views', productId], { ...DAILY, last: 7 }),
      this.unique.counter(['visitors', productId], DAILY).countRange({ last: 7 }),
    ]);
    return { views, visitors };
  }
}
