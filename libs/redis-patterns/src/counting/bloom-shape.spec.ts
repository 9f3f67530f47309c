import { describe, expect, it } from '@jest/globals';
import { bloomItems, bloomPlaces, bloomShape } from './bloom-shape.js';

describe('the shape of a Bloom filter', () => {
  it('is the least for its capacity and error rate, in equal chunks of at most 8 MiB', () => {
    expect(bloomShape(1000, 0.01)).toEqual({ hashes: 7, chunks: 1, bits: 9586 });
    expect(bloomShape(1e6, 0.001)).toEqual({ hashes: 10, chunks: 1, bits: 14_377_588 });
    const large = bloomShape(1e8, 0.01);
    expect(large).toMatchObject({ hashes: 7, chunks: 15 });
    expect(large.bits).toBeLessThanOrEqual(2 ** 26);
  });

  it('has too many items by no more often than its error rate, whatever its size', () => {
    for (const [capacity, errorRate] of [
      [3, 0.000001],
      [50, 0.01],
      [1000, 0.001],
      [20_000, 0.01],
    ] as const) {
      const shape = bloomShape(capacity, errorRate);
      const set = new Set<number>();
      for (let n = 0; n < capacity; n++) for (const place of bloomPlaces(`in-${n}`, shape).slice(1)) set.add(place);
      const tries = 40_000;
      let wrong = 0;
      for (let n = 0; n < tries; n++) {
        if (
          bloomPlaces(`out-${n}`, shape)
            .slice(1)
            .every((place) => set.has(place))
        )
          wrong++;
      }
      expect(wrong / tries).toBeLessThan(errorRate * 1.6);
      expect(Math.abs(bloomItems(set.size, shape) - capacity)).toBeLessThan(capacity * 0.06);
    }
  });

  it('spreads items over all chunks and bits', () => {
    const shape = { hashes: 3, chunks: 5, bits: 100 };
    const places = Array.from({ length: 2000 }, (_, n) => bloomPlaces(`item-${n}`, shape));
    expect(new Set(places.map(([chunk]) => chunk))).toEqual(new Set([0, 1, 2, 3, 4]));
    expect(new Set(places.flatMap((each) => each.slice(1))).size).toBe(100);
  });
});
