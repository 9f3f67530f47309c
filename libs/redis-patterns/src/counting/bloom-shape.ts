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

/** Bytes of the digest for the chunk, and for each bit: so many that the remainder favours no place. */
const FOR_CHUNK = 4;
const FOR_BIT = 6;

/**
 * Where an item stands: its chunk, then its bits in it. Each is hashed by itself, from as many bytes of SHAKE256 (FIPS 202) as that takes:
 * two hashes for all of them ("Less Hashing, Same Performance", Kirsch and Mitzenmacher 2006) have no more than bits² outcomes,
 * which small filters with a small error rate would notice.
 */
export function bloomPlaces(item: string, { hashes, chunks, bits }: BloomShape): number[] {
  const outputLength = FOR_CHUNK + hashes * FOR_BIT;
  const digest = createHash('shake256', { outputLength }).update(item).digest();
  const places = [digest.readUInt32BE(0) % chunks];
  for (let at = FOR_CHUNK; at < outputLength; at += FOR_BIT) places.push(digest.readUIntBE(at, FOR_BIT) % bits);
  return places;
}

/** How many items have set so many of the bits (Swamidass and Baldi 2007). */
export function bloomItems(set: number, { hashes, bits }: BloomShape): number {
  // Of a chunk that is all ones it cannot be told any more.
  return Math.round((-bits / hashes) * Math.log(1 - Math.min(set, bits - 1) / bits));
}
