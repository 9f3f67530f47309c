import { Controller, Get, Param, ParseIntPipe } from '@nestjs/common';
import type { BucketCount, UniqueCount } from 'nestjs-redis-patterns';
import { VisitsService } from './visits.service.js';

@Controller('visits')
export class VisitsController {
  constructor(private readonly visits: VisitsService) {}

  /** Views of a product on each of the last seven days, and how many different visitors those were. */
  @Get(':productId')
  of(@Param('productId', ParseIntPipe) productId: number): Promise<{ views: BucketCount[]; visitors: UniqueCount }> {
    return this.visits.of(productId);
  }
}
