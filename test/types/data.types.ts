// Checked by the compiler: what boards, counters and feeds accept and give.
import type { CounterService, FeedService, LeaderboardService, UniqueCounterService } from 'nestjs-redis-patterns';

interface Player {
  name: string;
}

export async function boards(leaderboards: LeaderboardService): Promise<string[]> {
  const board = leaderboards.board<Player>('players', { ties: 'first', bucket: 'week' });
  await board.submit('42', 7, { name: 'Ada' }, { opId: 'game 1' });
  // @ts-expect-error data of another type
  await board.submit('42', 7, { title: 'Countess' });
  // @ts-expect-error an order that there is not
  leaderboards.board('players', { order: 'up' });
  const { rank } = await board.submit('42', 7);
  // @ts-expect-error a member may not be on a full board
  rank.toFixed();
  return (await board.top(3)).map(({ data }) => data?.name ?? '');
}

export async function counting(counters: CounterService, unique: UniqueCounterService): Promise<number> {
  await counters.incr(['views', 42], { by: 2, bucket: 'day', at: new Date() });
  await counters.range('views', { bucket: 'day', last: 7 });
  await counters.range('views', { bucket: 'day', from: '2026-11-01', to: new Date() });
  // @ts-expect-error one or the other
  await counters.range('views', { bucket: 'day', last: 7, from: '2026-11-01' });
  // @ts-expect-error no range at all
  await counters.range('views', { bucket: 'day' });
  return (await unique.counter('visitors').count('2026-11-30')).value;
}

export async function feeds(service: FeedService): Promise<number[]> {
  const feed = service.feed<Player>('news', {
    load: async ({ max }) => [{ item: { name: String(max) }, at: new Date() }],
  });
  // @ts-expect-error an item of another type
  await feed.push({ title: 'Countess' });
  // @ts-expect-error a loader of other items
  service.feed<Player>('news', { load: async () => [{ item: 7 }] });
  return (await feed.page()).map(({ at, item }) => at.getTime() + item.name.length);
}
