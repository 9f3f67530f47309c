import type { PatternPart } from '../../nest/pattern-part.js';
import { resolveLeaderboardOptions, type ResolvedLeaderboardOptions } from '../leaderboard.options.js';
import { LeaderboardService } from '../leaderboard.service.js';

/** What leaderboards add to the module. */
export const leaderboardPart: PatternPart<ResolvedLeaderboardOptions> = {
  option: 'leaderboard',
  keeps: 'durable',
  resolve: resolveLeaderboardOptions,
  services: [{ token: LeaderboardService, create: (context, options) => new LeaderboardService(context, options) }],
  decorators: [],
};
