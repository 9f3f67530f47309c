// Leaderboards, counting and feeds beside the bare command of each, which knows no ties, data, buckets or TTL.
import {
  BloomFilterService,
  CounterService,
  FeedService,
  LeaderboardService,
  UniqueCounterService,
} from 'nestjs-redis-patterns';
import { openApplication, openRaw } from '../lib/context.mjs';
import { bytesOfData } from '../lib/data/bytes.mjs';

const MEMBERS = 10_000;
const ITEM = { kind: 'comment', by: 'user-4711', post: 'post-815', text: 'what was said about it' };

export async function data(url) {
  const raw = openRaw(url);
  const app = await openApplication(url);
  const services = {
    boards: app.get(LeaderboardService),
    counters: app.get(CounterService),
    unique: app.get(UniqueCounterService),
    filters: app.get(BloomFilterService),
    feeds: app.get(FeedService),
  };
  const scenarios = [
    ...boardScenarios(raw, services),
    ...countingScenarios(raw, services),
    ...feedScenarios(raw, services),
    { name: 'bytes', measure: () => bytesOfData(raw, services, ITEM) },
  ];
  const close = async () => {
    await app.close();
    raw.disconnect();
  };
  return { scenarios, close };
}

function boardScenarios(raw, { boards }) {
  const key = 'bench:raw:board';
  const member = (i) => `member-${(i * 7919) % MEMBERS}`;
  const ours = ['competition', 'first', 'dense'].map((ties) => ({
    name: `ours ${ties}`,
    board: boards.board(`bench-${ties}`, { ties, update: 'latest' }),
  }));
  const fill = async () => {
    for (let start = 0; start < MEMBERS; start += 500) {
      const scores = Array.from({ length: 500 }, (_, n) => [`member-${start + n}`, (start + n) % 1000]);
      await raw.zadd(key, ...scores.flatMap(([name, score]) => [score, name]));
      for (const { board } of ours) await board.submitMany(scores.map(([name, score]) => ({ member: name, score })));
    }
  };
  const arms = (bare, call) => [
    { name: 'raw', run: bare },
    ...ours.map(({ name, board }) => ({ name, run: (i) => call(board, i) })),
  ];
  const submits = arms(
    (i) => raw.zadd(key, i % 1000, member(i)),
    (board, i) => board.submit(member(i), i % 1000),
  );
  submits[0].setup = fill;
  const around = async (i) => {
    const at = await raw.zrevrank(key, member(i));
    return done((await raw.zrevrange(key, Math.max(0, at - 5), at + 5, 'WITHSCORES')).length > 2);
  };
  return [
    { name: 'board: submit', arms: submits },
    {
      name: 'board: top 10',
      arms: arms(
        async () => done((await raw.zrevrange(key, 0, 9, 'WITHSCORES')).length === 20),
        async (board) => done((await board.top(10)).length === 10),
      ),
    },
    {
      name: 'board: around 11',
      arms: arms(around, async (board, i) => done((await board.around(member(i), { size: 11 })).length === 11)),
    },
  ];
}

function countingScenarios(raw, { counters, unique, filters }) {
  const views = counters.counter('bench-views', { bucket: 'day' });
  const sets = unique.counter('bench-set', { bucket: 'day', strategy: 'set' });
  const visitors = unique.counter('bench-auto', { bucket: 'day' });
  const filter = filters.filter('bench-filter', { capacity: 1_000_000, errorRate: 0.001 });
  const places = (i) => Array.from({ length: 10 }, (_, n) => (i * 104_729 + n * 15_485_863) % 14_377_588);
  const bits = (i, add) => {
    const pipeline = raw.pipeline();
    for (const place of places(i)) {
      if (add) pipeline.setbit('bench:raw:bits', place, 1);
      else pipeline.getbit('bench:raw:bits', place);
    }
    return pipeline.exec();
  };
  return [
    {
      name: 'counter: incr',
      arms: [
        { name: 'raw', run: () => raw.incr('bench:raw:views') },
        { name: 'ours', run: () => views.incr() },
      ],
    },
    {
      name: 'unique: add',
      arms: [
        { name: 'raw', run: (i) => raw.sadd('bench:raw:set', `user-${i}`) },
        { name: 'raw PFADD', run: (i) => raw.pfadd('bench:raw:hll', `user-${i}`) },
        { name: 'ours set', run: (i) => sets.add(`user-${i}`) },
        { name: 'ours auto', run: (i) => visitors.add(`user-${i}`) },
      ],
    },
    {
      name: 'bloom: add',
      arms: [
        { name: 'raw', run: (i) => bits(i, true) },
        { name: 'ours', run: (i) => filter.add(`item-${i}`) },
      ],
    },
    {
      name: 'bloom: has 100',
      arms: [
        { name: 'raw', run: (i) => Promise.all(Array.from({ length: 100 }, (_, n) => bits(i * 100 + n, false))) },
        {
          name: 'ours',
          run: (i) => filter.hasMany(Array.from({ length: 100 }, (_, n) => `item-${i * 100 + n}`)),
        },
      ],
    },
  ];
}

function feedScenarios(raw, { feeds }) {
  const feed = feeds.feed('bench-feed', { max: 1000 });
  const text = JSON.stringify(ITEM);
  const push = async () => {
    await raw.pipeline().lpush('bench:raw:feed', text).ltrim('bench:raw:feed', 0, 999).exec();
  };
  const followers = Array.from({ length: 100 }, (_, n) => ['bench-follower', n]);
  const fanOut = () => {
    const pipeline = raw.pipeline();
    for (const [, n] of followers) pipeline.lpush(`bench:raw:feed:${n}`, text).ltrim(`bench:raw:feed:${n}`, 0, 99);
    return pipeline.exec();
  };
  return [
    {
      name: 'feed: push',
      arms: [
        { name: 'raw', run: push },
        { name: 'ours', run: () => feed.push(ITEM) },
      ],
    },
    {
      name: 'feed: page 20',
      arms: [
        {
          name: 'raw',
          run: async () =>
            done((await raw.lrange('bench:raw:feed', 0, 19)).map((item) => JSON.parse(item)).length === 20),
        },
        { name: 'ours', run: async () => done((await feed.page({ size: 20 })).length === 20) },
      ],
    },
    {
      name: 'feed: fan out 100',
      arms: [
        { name: 'raw', run: fanOut },
        {
          name: 'ours',
          run: async () => done((await feeds.fanOut(followers, ITEM, { max: 100 })).written === followers.length),
        },
      ],
    },
  ];
}

function done(ok) {
  if (!ok) throw new Error('A call did not do what it should');
}
