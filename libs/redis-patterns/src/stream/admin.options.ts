import { z } from 'zod';
import { durationSchema, parseOptions, type Duration } from '../core/index.js';
import type { DeadLetterPage, DeadLetterSelection } from './dead-letters.js';

/** Which entries {@link StreamAdmin.replay} gives to a group once more. */
export interface ReplayRange {
  /** Id of the first entry, or the time from which. Default: the first that there is. */
  from?: string | Date;
  /** Id of the last entry, or the time to which, included. Default: the last that there is now. */
  to?: string | Date;
  /** Most entries. Default: no limit. */
  limit?: number;
}

/** What {@link StreamAdmin.trim} keeps; what is left out is as `retention` says. */
export interface TrimLimits {
  /** Entries kept. */
  maxLen?: number;
  /** Finished entries older than that go. */
  maxAge?: Duration;
}

const ENTRY_ID = /^\d{1,16}(-\d{1,20})?$/;
const ID = "must be an entry id such as '1764500000000-0'";
const id = z.string(ID).regex(ENTRY_ID, ID);
const POSITION = `${ID}, or a Date`;
const position = z
  .custom<string | Date>(isPosition, POSITION)
  .transform((given) => (typeof given === 'string' ? given : String(given.getTime())));

const pause = z.strictObject({ for: durationSchema({ min: 1 }).optional() });
const replay = z.strictObject({
  from: position.optional(),
  to: position.optional(),
  limit: z.int().min(0).optional(),
});
const trim = z.strictObject({ maxLen: z.int().min(0).optional(), maxAge: durationSchema({ min: 1 }).optional() });
const page = z.strictObject({ limit: z.int().min(1).default(100), before: id.optional() });
const selection = z.strictObject({ ids: z.array(id).optional() });

function isPosition(given: unknown): boolean {
  return given instanceof Date ? given.getTime() >= 0 : typeof given === 'string' && ENTRY_ID.test(given);
}

/** Parses what methods of `StreamAdmin` are given. @throws InvalidOptionsError */
export const parseAdmin = {
  pause: (raw: { for?: Duration }) => parseOptions(pause, raw, 'StreamAdmin.pause'),
  replay: (raw: ReplayRange) => parseOptions(replay, raw, 'StreamAdmin.replay'),
  trim: (raw: TrimLimits) => parseOptions(trim, raw, 'StreamAdmin.trim'),
  page: (raw: DeadLetterPage) => parseOptions(page, raw, 'StreamAdmin.deadLetters().list'),
  selection: (raw: DeadLetterSelection, method: 'replay' | 'purge') =>
    parseOptions(selection, raw, `StreamAdmin.deadLetters().${method}`),
};
