import { setTimeout as delay } from 'node:timers/promises';
import { Controller, HttpCode, HttpException, Post } from '@nestjs/common';
import { ApiOkResponse, ApiResponse } from '@nestjs/swagger';
import { LockLostError, LockService, LockTimeoutError, type LockHandle } from 'nestjs-redis-patterns';
import { Stocktaking } from './stocktaking.js';

/** Milliseconds that counting takes: longer than the lease, which is renewed meanwhile. */
const COUNTING = 1_200;
const LOCKED = 423;

@Controller('stocktaking')
export class StocktakingController {
  constructor(private readonly locks: LockService) {}

  /** One worker counts at a time. It is told before its lease is over that Redis does not renew it, also if Redis hangs. */
  @Post()
  @HttpCode(200)
  @ApiOkResponse({ type: Stocktaking })
  @ApiResponse({ status: LOCKED, description: 'Another worker is counting' })
  async count(): Promise<Stocktaking> {
    try {
      return await this.locks.using('stocktaking', { lease: '1s', onLost: 'ignore' }, countAll);
    } catch (error) {
      if (!(error instanceof LockTimeoutError)) throw error;
      throw new HttpException('Another worker is counting', LOCKED, { cause: error });
    }
  }
}

async function countAll({ signal, fence }: LockHandle): Promise<Stocktaking> {
  const began = performance.now();
  const finished = await delay(COUNTING, true, { signal }).catch(() => false);
  const reason: unknown = signal.reason;
  return {
    worker: process.pid,
    fence: String(fence),
    finished,
    afterMs: Math.round(performance.now() - began),
    ...(reason instanceof LockLostError ? { lost: reason.reason } : {}),
  };
}
