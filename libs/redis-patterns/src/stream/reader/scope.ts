import type { EngineContext } from '../../connection/index.js';
import type { ResolvedReaderOptions } from '../consumer.options.js';
import type { GroupKeys } from '../stream-keys.js';

/** What every part of one reader works with. */
export interface ReaderScope {
  readonly context: EngineContext;
  readonly stream: string;
  readonly group: string;
  /** Name of this process in the group; no other process ever has it. */
  readonly consumer: string;
  /** `stream/group`, for messages. */
  readonly label: string;
  readonly keys: GroupKeys;
  readonly options: ResolvedReaderOptions;
  readonly abandonAfter: number;
}

export function warn({ context }: ReaderScope, code: string, message: string): void {
  context.telemetry.emit('warning', { pattern: 'Stream', code, message });
}

export function report({ context }: ReaderScope, code: string, message: string, error?: unknown): void {
  context.telemetry.emit('error', { pattern: 'Stream', code, message, ...(error === undefined ? {} : { error }) });
}
