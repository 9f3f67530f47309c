import { createHash } from 'node:crypto';

/** Bits of a chunk: 8 MiB, which Redis makes at once in about a millisecond. */
const CHUNK = 2 ** 26;

/** How a filter is laid out. */
export interface BloomShape {
  /** Bits that each item sets. */
  readonly hashes: number;
  readonly chunks: number;
  /** Bits of each chunk. */
  readonly bits: number;
}

/**
 * The least bits for a capacity and error rate: m = ⌈−n ln p / ln² 2⌉ and k = m/n ln 2 (Bloom 1970; Broder and Mitzenmacher, "Network
 * Applications of Bloom Filters", 2004), in chunks of equal size.
 */
export function bloomShape(capacity: number, errorRate: number): BloomShape {
  const all = Math.ceil((-capacity * Math.log(errorRate)) / Math.LN2 ** 2);
  const chunks = Math.ceil(all / CHUNK);
  return { hashes: Math.max(1, Math.round((all / capacity) * Math.LN2)), chunks, bits: Math.ceil(all / chunks) };
}

/**
 * Where an item stands: its chunk, then its bits in it. Two hashes make all of them ("Less Hashing, Same Performance", Kirsch and
 * Mitzenmacher 2006), with the growing step of enhanced double hashing (Dillinger and Manolios 2004), which small filters need.
 */
export function bloomPlaces(item: string, { hashes, chunks, bits }: BloomShape): number[] {
  const digest = createHash('sha256').update(item).digest();
  const places = [digest.readUInt32BE(14) % chunks];
  let place = (digest.readUIntBE(0, 6) + (digest[6]! & 31) * 2 ** 48) % bits;
  let step = (digest.readUIntBE(7, 6) + (digest[13]! & 31) * 2 ** 48) % bits;
  for (let n = 1; n <= hashes; n++) {
    places.push(place);
    place = (place + step) % bits;
    step = (step + n) % bits;
  }
  return places;
}

/** How many items have set so many of the bits (Swamidass and Baldi 2007). */
export function bloomItems(set: number, { hashes, bits }: BloomShape): number {
  // Of a chunk that is all ones it cannot be told any more.
  return Math.round((-bits / hashes) * Math.log(1 - Math.min(set, bits - 1) / bits));
}
