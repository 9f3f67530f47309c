import type { StreamConsumerOptions } from '../../../libs/redis-patterns/src/stream/index.js';
import type { PlainConnection } from '../../support/topologies.js';

/** The groups that consume the stream; a message may fail in one and succeed in the other. */
export const GROUPS = ['a', 'b'] as const;
export type Group = (typeof GROUPS)[number];

/** Payload of a message. */
export interface Body {
  readonly id: string;
  /** Groups in which its handler always fails. */
  readonly fails: readonly Group[];
}

/** A run of a handler, written down before it does anything. */
export interface Begun {
  readonly run: string;
  readonly pid: number;
  readonly group: Group;
  readonly id: string;
  readonly attempt: number;
  readonly from: number;
}

/** The end of a run; a run without one died with its process. */
export interface Ended {
  readonly run: string;
  readonly to: number;
  /** Whether it knew that it had lost its message. */
  readonly aborted: boolean;
  readonly failed: boolean;
}

export interface WorkerSetup {
  readonly connection: PlainConnection;
  readonly options: object;
  readonly namespace: string;
  readonly stream: string;
  /** Where the runs are written down. */
  readonly log: PlainConnection;
  readonly reader: Omit<StreamConsumerOptions, 'stream' | 'group'>;
}

/** A time, on the clock that all processes of one machine share; milliseconds. */
export interface Span {
  readonly from: number;
  to: number;
}

export const clock = (): number => Number(process.hrtime.bigint()) / 1e6;
