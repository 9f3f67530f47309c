import type { WatchedLoop } from '../../telemetry/index.js';
import type { ReaderScope } from './scope.js';

/** Longest pause after a failure, and longest wait for a new socket, are of this size; milliseconds. */
const PAUSE = 5000;

/** The loop of a reader, for health answers. */
export function newLoop({ label, context, options }: ReaderScope): WatchedLoop {
  const now = performance.now();
  const period = Math.max(options.block, PAUSE);
  return { name: label, connection: context.connection.name, period, turnedAt: now, answeredAt: now, waiting: false };
}

/** @param answered whether Redis has answered a read */
export function turned(loop: WatchedLoop, answered: boolean): void {
  loop.waiting = false;
  loop.turnedAt = performance.now();
  if (answered) loop.answeredAt = loop.turnedAt;
}
