import { ApiProperty } from '@nestjs/swagger';
import { defineStream } from 'nestjs-redis-patterns';

export class Scans {
  @ApiProperty({ type: [String], example: ['packed', 'depot', 'customs', 'delivered'] })
  places!: string[];
}

export const parcelEvents = defineStream<{ scanned: { parcelId: string; place: string } }>({ name: 'parcels' });
export const JOURNEYS = 'journeys';

/** List of the places of a parcel, in the slot of the stream: it changes together with the acknowledgement. */
export function journeyKey(parcelId: string): string {
  return `shop:demo:journey:{shop:stream:parcels}:${parcelId}`;
}
