import {
  Catch,
  ConflictException,
  Controller,
  Injectable,
  Param,
  ParseIntPipe,
  Post,
  type ArgumentsHost,
  type ExceptionFilter,
  type INestApplication,
} from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import {
  LockLostError,
  LockService,
  LockTimeoutError,
  LockUnavailableError,
  RedisPatternsModule,
  WithLock,
} from 'nestjs-redis-patterns';
import { Observable, lastValueFrom, of } from 'rxjs';
import type { Server } from 'node:http';
import type { Response } from 'express';
import request from 'supertest';
import { describeOnEachTopology } from '../../support/topologies.js';

@Injectable()
class Stock {
  amount = 0;
  inside = 0;
  constructor(private readonly locks: LockService) {}

  @WithLock({ key: (id: number) => ['stock', id], wait: '10s' })
  async take(_id: number): Promise<number> {
    expect(++this.inside).toBe(1);
    const { amount } = this;
    await this.locks.inspect('other');
    this.amount = amount - 1;
    this.inside--;
    if (amount < 1) throw new ConflictException('sold out');
    return amount;
  }

  @WithLock({ key: 'once', onBusy: 'skip' })
  async once(work: () => Promise<string>): Promise<string | undefined> {
    return work();
  }

  @WithLock({ key: 'answer', onBusy: (name: string) => `${name} is busy` })
  async answered(name: string, work: () => Promise<void>): Promise<string> {
    await work();
    return `${name} ran`;
  }

  @WithLock({ key: (id: string) => id })
  async keyed(_id: string): Promise<void> {}

  @WithLock({ key: 'feed' })
  feed(source: Observable<string>): Observable<string> {
    return source;
  }

  fenceInside: bigint | undefined;
  @WithLock({ key: 'current' })
  async current(): Promise<void> {
    this.fenceInside = this.locks.current()?.fence;
  }
}

@Controller('stock')
class StockController {
  constructor(private readonly stock: Stock) {}

  @Post('busy')
  @WithLock({ key: 'busy-handler' })
  async busy(): Promise<void> {}

  @Post(':id')
  @WithLock({ key: (id: number) => ['handler', id], wait: '10s' })
  async take(@Param('id', ParseIntPipe) id: number): Promise<{ left: number }> {
    return { left: await this.stock.take(id) };
  }
}

/** As docs/locks.md shows it. */
@Catch(LockTimeoutError, LockUnavailableError, LockLostError)
class LockFilter implements ExceptionFilter {
  catch(error: LockTimeoutError | LockUnavailableError | LockLostError, host: ArgumentsHost): void {
    const busy = error instanceof LockTimeoutError;
    const retryAfter = busy ? Math.min(60, Math.ceil(error.retryAfterMs / 1000)) : 1;
    const response = host.switchToHttp().getResponse<Response>();
    response
      .status(busy ? 423 : 503)
      .setHeader('Retry-After', retryAfter)
      .json({ code: error.code });
  }
}

describeOnEachTopology('@WithLock', { user: 'lock' }, (topology) => {
  let app: INestApplication<Server>;
  let stock: Stock;
  let locks: LockService;
  beforeAll(async () => {
    const { connection, namespace } = topology;
    const module = await Test.createTestingModule({
      imports: [RedisPatternsModule.forRoot({ namespace, connection })],
      controllers: [StockController],
      providers: [Stock],
    }).compile();
    app = module.createNestApplication({ logger: false });
    app.useGlobalFilters(new LockFilter());
    await app.init();
    stock = app.get(Stock);
    locks = app.get(LockService);
  });
  afterAll(() => app.close());

  it('runs handlers one at a time, with their pipes, and passes HTTP errors on', async () => {
    stock.amount = 3;
    const answers = await Promise.all(Array.from({ length: 5 }, () => request(app.getHttpServer()).post('/stock/7')));
    const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b);
    expect(statuses).toEqual([201, 201, 201, 409, 409]);
    expect((await request(app.getHttpServer()).post('/stock/x')).status).toBe(400);
  });

  it('tells a filter what it needs to answer a busy lock', async () => {
    await using _lock = await locks.acquire('busy-handler', { lease: '5s' });
    const answer = await request(app.getHttpServer()).post('/stock/busy');
    expect([answer.status, answer.body]).toEqual([423, { code: 'ERR_LOCK_TIMEOUT' }]);
    expect(Number(answer.headers['retry-after'])).toBeLessThanOrEqual(5);
  });

  it('skips, or answers, a call while somebody else holds the lock', async () => {
    let finish = (): void => {};
    const finished = new Promise<void>((resolve) => (finish = resolve));
    const started = new Promise<void>((resolve) => {
      void stock.once(async () => {
        resolve();
        await finished;
        return 'first';
      });
    });
    await started;
    expect(await stock.once(async () => 'second')).toBeUndefined();
    finish();
    const busy = await locks.acquire('answer');
    expect(await stock.answered('report', async () => {})).toBe('report is busy');
    await busy.release();
    expect(await stock.answered('report', async () => {})).toBe('report ran');
  });

  it('refuses an empty key', async () => {
    await expect(stock.keyed('')).rejects.toMatchObject({
      code: 'ERR_INVALID_OPTIONS',
      message: expect.stringMatching(/Stock\.keyed.*non-empty/s),
    });
  });

  it('holds an Observable from its subscription to its end', async () => {
    expect(await lastValueFrom(stock.feed(of('a')))).toBe('a');
    let holder: unknown;
    const source = new Observable<string>((subscriber) => {
      void locks.inspect('feed').then((found) => {
        holder = found;
        subscriber.complete();
      });
    });
    await new Promise<void>((resolve) => stock.feed(source).subscribe({ complete: resolve }));
    expect(holder).not.toBeNull();
    expect(await locks.inspect('feed')).toBeNull();
  });

  it('shows the method its lock', async () => {
    await stock.current();
    expect(typeof stock.fenceInside).toBe('bigint');
  });
});
