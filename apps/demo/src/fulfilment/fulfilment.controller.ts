import { Controller, Delete, Get, HttpCode, Post } from '@nestjs/common';
import {
  StreamAdmin,
  StreamRuntime,
  type DeadLetter,
  type StreamLag,
  type StreamPendingInfo,
  type StreamReaderInfo,
} from 'nestjs-redis-patterns';
import { orderEvents } from '../orders/order.js';
import { Carrier } from './carrier.js';
import { FULFILMENT } from './fulfilment.consumer.js';

interface Fulfilment {
  readonly lag: StreamLag | undefined;
  readonly pending: StreamPendingInfo | undefined;
  readonly deadLetters: readonly DeadLetter[];
  readonly readers: readonly StreamReaderInfo[];
}

@Controller('fulfilment')
export class FulfilmentController {
  constructor(
    private readonly admin: StreamAdmin,
    private readonly runtime: StreamRuntime,
    private readonly carrier: Carrier,
  ) {}

  /** How far the packing has come: what waits, what is under way, what failed for good, and what this process does. */
  @Get()
  async look(): Promise<Fulfilment> {
    const [lag, pending, deadLetters] = await Promise.all([
      this.admin.lag(orderEvents, FULFILMENT),
      this.admin.pending(orderEvents, FULFILMENT),
      this.admin.deadLetters(orderEvents, FULFILMENT).list({ limit: 10 }),
    ]);
    return { lag, pending, deadLetters, readers: this.runtime.readers };
  }

  /** Gives everything that failed for good another chance. */
  @Post('replay')
  @HttpCode(200)
  async replay(): Promise<{ replayed: number }> {
    return { replayed: await this.admin.deadLetters(orderEvents, FULFILMENT).replay() };
  }

  /** From now on parcels are left standing, and orders become dead letters after a few attempts. */
  @Post('strike')
  @HttpCode(200)
  async strike(): Promise<{ onStrike: boolean }> {
    await this.carrier.strike();
    return { onStrike: true };
  }

  @Delete('strike')
  async endStrike(): Promise<{ onStrike: boolean }> {
    await this.carrier.endStrike();
    return { onStrike: false };
  }
}
