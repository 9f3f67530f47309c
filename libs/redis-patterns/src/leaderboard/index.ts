export { Leaderboard, type LeaderboardEntry, type Submission, type SubmitResult } from './leaderboard.js';
export type { LeaderboardDefinition, LeaderboardOptions } from './leaderboard.options.js';
export { LeaderboardService } from './leaderboard.service.js';
