import { setTimeout as delay } from 'node:timers/promises';
import { BadRequestException, Controller, HttpCode, Post, Query } from '@nestjs/common';
import { ApiOkResponse, ApiQuery, ApiResponse } from '@nestjs/swagger';
import { LockLostError, LockService, type LockHandle } from 'nestjs-redis-patterns';
import { Stocktaking, STOCKTAKING } from './stocktaking.js';

/** Milliseconds that counting takes: longer than the lease, which is renewed meanwhile. */
const COUNTING = 1_200;
/** Milliseconds to stand in the queue. */
const LONGEST_WAIT = 9_000;

@Controller('stocktaking')
export class StocktakingController {
  constructor(private readonly locks: LockService) {}

  /** One worker counts at a time. It is told before its lease is over that Redis does not renew it, also if Redis hangs. */
  @Post()
  @HttpCode(200)
  @ApiQuery({
    name: 'wait',
    required: false,
    description: 'Seconds to stand in the queue, up to 9; without it one try',
  })
  @ApiOkResponse({ type: Stocktaking })
  @ApiResponse({ status: 423, description: 'Another worker is counting' })
  async count(@Query('wait') seconds = '0'): Promise<Stocktaking> {
    const wait = Number(seconds) * 1000;
    if (!(Number.isInteger(wait) && wait >= 0 && wait <= LONGEST_WAIT))
      throw new BadRequestException('wait must be 0 to 9 seconds');
    return this.locks.using(STOCKTAKING, { lease: '1s', wait, onLost: 'ignore' }, countAll);
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
