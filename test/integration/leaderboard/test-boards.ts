import { LeaderboardService } from 'nestjs-redis-patterns';
import { resolveLeaderboardOptions } from '../../../libs/redis-patterns/src/leaderboard/leaderboard.options.js';
import { openEngine, type OpenEngine } from '../../support/engine.js';
import type { PlainConnection } from '../../support/topologies.js';

/** Leaderboards without NestJS. Whoever opens them closes the engine. */
export async function openBoards(setup: {
  connection: PlainConnection;
  namespace: string;
}): Promise<{ boards: LeaderboardService; engine: OpenEngine }> {
  // The machine of the tests is slow at times, and only specs of faults are about the deadline.
  const engine = await openEngine(setup, { commandTimeout: 5000 });
  return { engine, boards: new LeaderboardService(engine.context, resolveLeaderboardOptions({}, 'the spec')) };
}
