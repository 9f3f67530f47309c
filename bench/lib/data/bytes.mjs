// Bytes that Redis takes for each member, id and item, beside the bare structure.
import { round } from '../measure.mjs';

const COUNT = 4000;

/**
 * @param {import('ioredis').Redis} raw
 * @param {any} services
 * @param {object} item
 */
export async function bytesOfData(raw, { boards, unique, filters, feeds }, item) {
  const names = Array.from({ length: COUNT }, (_, n) => `member-${n}`);
  const rows = [];
  const row = async (name, fill) => {
    const before = await keys(raw);
    await fill();
    const made = [...(await keys(raw))].filter((key) => !before.has(key));
    let bytes = 0;
    for (const key of made) bytes += Number(await raw.memory('USAGE', key, 'SAMPLES', 0));
    rows.push({ arm: name, of: COUNT, keys: made.length, bytes, bytesEach: round(bytes / COUNT) });
    await raw.unlink(...made);
  };
  await row('raw sorted set', () => raw.zadd('bench:bytes:z', ...names.flatMap((name, n) => [n, name])));
  for (const ties of ['competition', 'first', 'dense']) {
    const board = boards.board(`bytes-${ties}`, { ties });
    await row(`board ${ties}`, async () => {
      for (let start = 0; start < COUNT; start += 500) {
        const part = names.slice(start, start + 500);
        await board.submitMany(part.map((member, n) => ({ member, score: start + n })));
      }
    });
  }
  await row('raw set', () => raw.sadd('bench:bytes:s', ...names));
  for (const strategy of ['set', 'auto', 'hll']) {
    await row(`unique ${strategy}`, () => unique.counter(`bytes-${strategy}`, { strategy }).addMany(names));
  }
  const filter = filters.filter('bytes', { capacity: COUNT, errorRate: 0.001 });
  await row('bloom 0.001', () => filter.addMany(names));
  const text = JSON.stringify(item);
  await row('raw list', () => raw.lpush('bench:bytes:l', ...names.map(() => text)));
  const feed = feeds.feed('bytes', { max: COUNT });
  await row('feed', () => pushAll(feed, item));
  return rows;
}

/** Not all at once: a connection takes 1000 calls at a time. */
async function pushAll(feed, item) {
  for (let n = 0; n < COUNT; n += 500) await Promise.all(Array.from({ length: 500 }, () => feed.push(item)));
}

/** @param {import('ioredis').Redis} raw */
async function keys(raw) {
  const found = new Set();
  let cursor = '0';
  do {
    const [next, page] = await raw.scan(cursor, 'COUNT', 1000);
    for (const key of page) found.add(key);
    cursor = next;
  } while (cursor !== '0');
  return found;
}
