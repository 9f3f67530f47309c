// A process whose clock is wrong, and in which a job is due at each whole second of that clock.
import { Injectable } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { RedisPatternsModule, RunOnce } from 'nestjs-redis-patterns';
import { sleep } from '../../../../libs/redis-patterns/src/core/index.js';
import { onParent, programData, tellParent } from '../../../support/parent.js';
import type { PlainConnection } from '../../../support/topologies.js';

const { connection, namespace, skewMs, instants } = programData<{
  connection: PlainConnection;
  namespace: string;
  skewMs: number;
  instants: number;
}>();
const RealDate = Date;
globalThis.Date = class extends RealDate {
  constructor(...args: [] | [number]) {
    if (args.length === 0) super(Date.now());
    else super(...args);
  }
  static override now(): number {
    return RealDate.now() + skewMs;
  }
} as DateConstructor;

@Injectable()
class Jobs {
  runs: { job: string; instant: number }[] = [];

  @RunOnce({ name: 'by-slot', per: (now) => Math.round(now.getTime() / 1000) })
  async bySlot(instant: number): Promise<void> {
    this.runs.push({ job: 'by-slot', instant });
  }

  @RunOnce({ name: 'by-distance', per: '1s', tolerance: '500ms', overlap: true })
  async byDistance(instant: number): Promise<void> {
    this.runs.push({ job: 'by-distance', instant });
  }
}

const app = await NestFactory.createApplicationContext(
  { module: class App {}, imports: [RedisPatternsModule.forRoot({ namespace, connection })], providers: [Jobs] },
  { logger: false },
);
const jobs = app.get(Jobs);

onParent('start', () => {
  void (async () => {
    for (let n = 0; n < instants; n++) {
      await sleep(1000 - (Date.now() % 1000));
      // Which instant that is by the clock that everybody else goes by.
      const instant = Math.round(RealDate.now() / 1000);
      await Promise.all([jobs.bySlot(instant), jobs.byDistance(instant)]);
    }
    await tellParent({ type: 'done', runs: jobs.runs });
    await app.close();
  })();
});

await tellParent({ type: 'ready' });
