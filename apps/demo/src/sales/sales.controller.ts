import { Controller, Get, Param, ParseIntPipe, Query } from '@nestjs/common';
import { ApiQuery } from '@nestjs/swagger';
import type { FeedEntry, LeaderboardEntry } from 'nestjs-redis-patterns';
import { SalesService, type Sale, type SoldProduct } from './sales.service.js';

@Controller('sales')
export class SalesController {
  constructor(private readonly sales: SalesService) {}

  /** The ten products that were sold most this week. */
  @Get('best-sellers')
  bestSellers(): Promise<LeaderboardEntry<SoldProduct>[]> {
    return this.sales.bestSellers();
  }

  /** A product among those that were sold about as often. */
  @Get('best-sellers/:productId')
  around(@Param('productId', ParseIntPipe) productId: number): Promise<LeaderboardEntry<SoldProduct>[]> {
    return this.sales.around(productId);
  }

  /** What was ordered, newest first; the next page begins before the last id of this one. */
  @Get('orders')
  @ApiQuery({ name: 'before', required: false })
  orders(@Query('before') before?: string): Promise<FeedEntry<Sale>[]> {
    return this.sales.orders(before);
  }
}
