import type { EngineContext } from '../../connection/index.js';
import type { ResolvedReaderOptions } from '../consumer.options.js';
import type { KnownStream } from '../stream-book.js';
import type { GroupKeys } from '../stream-keys.js';

/** One of the two streams that a reader reads: that of the messages, or the retries of its group. */
export interface Plane {
  readonly key: string;
  /** 1: the retries, which nobody else reads, so that what is done is deleted. */
  readonly isRetry: 0 | 1;
}

/** What every part of one reader works with. */
export interface ReaderScope {
  readonly context: EngineContext;
  readonly known: KnownStream;
  readonly stream: string;
  readonly group: string;
  /** Name of this process in the group; no other process ever has it. */
  readonly consumer: string;
  /** `stream/group`, for messages. */
  readonly label: string;
  readonly keys: GroupKeys;
  readonly planes: { readonly main: Plane; readonly retries: Plane };
  readonly options: ResolvedReaderOptions;
  readonly abandonAfter: number;
  /** Longest payload that is decoded, bytes. */
  readonly maxPayload: number;
}

const MEMBERS_TTL = 3_600_000;

/** Time for which a group remembers who is in it, milliseconds. */
export function membersTtl(reapAfter: number): number {
  return Math.max(MEMBERS_TTL, reapAfter);
}

export function warn({ context }: ReaderScope, code: string, message: string): void {
  context.telemetry.emit('warning', { pattern: 'Stream', code, message });
}

export function warnOfTrimmed(scope: ReaderScope, trimmed: number): void {
  const text =
    `${trimmed} pending entries of ${scope.label} had been trimmed from the stream before they were processed; ` +
    `raise its retention.maxLen, or use mode 'safe'.`;
  warn(scope, 'ERR_STREAM_TRIMMED', text);
}

export function report({ context }: ReaderScope, code: string, message: string, error?: unknown): void {
  context.telemetry.emit('error', { pattern: 'Stream', code, message, ...(error === undefined ? {} : { error }) });
}
