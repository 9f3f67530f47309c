// Locks: one at a time, a job that is skipped while somebody runs it, a job that runs once for each slot.
import 'reflect-metadata';
import { strict as assert } from 'node:assert';
import { setTimeout as pause } from 'node:timers/promises';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { LockService, RedisPatternsModule, RunOnce, WithLock } from 'nestjs-redis-patterns';

@Injectable()
class StockService {
  readonly stock = new Map([['lamp', 5]]);

  constructor(private readonly locks: LockService) {}

  // Reads, waits and writes: without the lock two callers would take the same piece.
  @WithLock({ key: (product: string) => ['stock', product], wait: '5s' })
  async take(product: string): Promise<{ left: number; fence: bigint | undefined }> {
    const left = this.stock.get(product) ?? 0;
    await pause(5);
    this.stock.set(product, left - 1);
    return { left: left - 1, fence: this.locks.current()?.fence };
  }
}

@Injectable()
class ReportJob {
  runs = 0;
  days = 0;

  // While one process makes the report, the others do nothing.
  @WithLock({ key: 'report', onBusy: 'skip' })
  async make(): Promise<number | undefined> {
    await pause(50);
    return ++this.runs;
  }

  // Once a day, however many processes have the same schedule.
  @RunOnce({ name: 'nightly', per: (now) => now.toISOString().slice(0, 10) })
  async nightly(): Promise<void> {
    this.days++;
  }
}

@Module({
  imports: [
    RedisPatternsModule.forRoot({
      namespace: `example-locks-${process.pid}`,
      connection: process.env.REDIS_URL ?? 'redis://127.0.0.1:6379',
    }),
  ],
  providers: [StockService, ReportJob],
})
class AppModule {}

async function main(): Promise<void> {
  const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error', 'warn'] });
  const stock = app.get(StockService);

  const taken = await Promise.all(Array.from({ length: 5 }, () => stock.take('lamp')));
  assert.deepEqual(
    taken.map(({ left }) => left).sort((a, b) => b - a),
    [4, 3, 2, 1, 0],
  );
  const fences = taken.map(({ fence }) => fence);
  assert.equal(new Set(fences).size, 5);
  console.log('five takers, one after the other; fences', fences.join(' '));

  const jobs = app.get(ReportJob);
  const made = await Promise.all([jobs.make(), jobs.make(), jobs.make()]);
  assert.deepEqual(
    made.filter((run) => run !== undefined),
    [1],
  );
  console.log('three schedules fired, one report was made');

  await jobs.nightly();
  await jobs.nightly();
  // Midnight may have passed between the two.
  assert.ok(jobs.days === 1 || jobs.days === 2);
  console.log('the nightly job ran once for its day');
  await app.close();
}

void main();
