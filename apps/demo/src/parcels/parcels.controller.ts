import { Body, Controller, Get, Param, Post } from '@nestjs/common';
import { InjectRedis, StreamAdmin, StreamProducer, type RedisClient, type StreamLane } from 'nestjs-redis-patterns';
import { JOURNEYS, journeyKey, parcelEvents, Scans } from './parcel.js';

@Controller('parcels')
export class ParcelsController {
  constructor(
    private readonly events: StreamProducer,
    private readonly admin: StreamAdmin,
    @InjectRedis() private readonly redis: RedisClient,
  ) {}

  /** A parcel was scanned at these places, in this order. */
  @Post(':id/scans')
  async scan(@Param('id') parcelId: string, @Body() { places }: Scans): Promise<{ scans: number }> {
    const scans = places.map((place) => ({ type: 'scanned', key: parcelId, payload: { parcelId, place } }) as const);
    const results = await this.events.publishMany(parcelEvents, scans);
    for (const { error } of results) if (error !== undefined) throw error;
    return { scans: results.length };
  }

  /** The way of a parcel so far, and what holds it up. */
  @Get(':id')
  async look(@Param('id') parcelId: string): Promise<{ places: string[]; lane: StreamLane | undefined }> {
    const [places, lane] = await Promise.all([
      this.redis.lrange(journeyKey(parcelId), 0, -1),
      this.admin.lane(parcelEvents, JOURNEYS, parcelId),
    ]);
    return { places, lane };
  }
}
