export { leaderboardPart } from './module-part.js';
