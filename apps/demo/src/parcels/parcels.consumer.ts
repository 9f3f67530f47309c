import { Injectable } from '@nestjs/common';
import { MessageBody, MessageContext, StreamConsumer, type StreamContext } from 'nestjs-redis-patterns';
import { JOURNEYS, journeyKey, parcelEvents } from './parcel.js';

const KEPT_IN_SECONDS = 3600;

/** Writes down where parcels are. Those of a parcel come one after the other, in all processes; parcels do not wait for each other. */
@Injectable()
export class ParcelsConsumer {
  @StreamConsumer({
    stream: parcelEvents,
    group: JOURNEYS,
    type: 'scanned',
    ordering: 'key',
    retry: { backoff: { base: 50 } },
  })
  async note(
    @MessageBody() { parcelId, place }: { parcelId: string; place: string },
    @MessageContext() ctx: StreamContext,
  ): Promise<void> {
    if (place === 'customs' && ctx.attempt === 1) throw new Error('Customs wants to see the papers');
    const journey = journeyKey(parcelId);
    // With the acknowledgement or not at all: however often it is tried, a place is noted once.
    await ctx.commit((tx) => tx.call('RPUSH', journey, place).call('EXPIRE', journey, KEPT_IN_SECONDS));
  }
}
