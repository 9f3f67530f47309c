import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { LinkedList, type Linked } from './linked-list.js';

interface Item extends Linked<Item> {
  readonly name: number;
}

describe('LinkedList', () => {
  it('holds what a Set would hold, in its order, whatever comes and goes', () => {
    const moves = fc.array(fc.tuple(fc.boolean(), fc.nat(9)), { maxLength: 60 });
    fc.assert(
      fc.property(moves, (steps) => {
        const items = Array.from({ length: 10 }, (_, name): Item => ({ name }));
        const list = new LinkedList<Item>();
        const set = new Set<Item>();
        for (const [comes, name] of steps) {
          const item = items[name]!;
          if (!comes) expect(list.delete(item)).toBe(set.delete(item));
          else if (!set.has(item)) {
            list.add(item);
            set.add(item);
          }
          expect([...list]).toEqual([...set]);
          expect(list.size).toBe(set.size);
          expect(list.first).toBe([...set][0]);
        }
      }),
    );
  });

  it('leaves nothing of its neighbours with what was taken out: one that lives long keeps no other', () => {
    const list = new LinkedList<Item>();
    const items = [0, 1, 2].map((name): Item => ({ name }));
    items.forEach((item) => list.add(item));
    list.delete(items[1]!);
    expect(items[1]).toEqual({ name: 1, before: undefined, behind: undefined });
    expect([...list].map(({ name }) => name)).toEqual([0, 2]);
  });

  it('can lose the item that is being looked at', () => {
    const list = new LinkedList<Item>();
    [0, 1, 2].forEach((name) => list.add({ name }));
    const seen = [];
    for (const item of list) {
      seen.push(item.name);
      list.delete(item);
    }
    expect(seen).toEqual([0, 1, 2]);
    expect(list.size).toBe(0);
  });
});
