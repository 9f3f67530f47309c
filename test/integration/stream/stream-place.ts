import { afterEach, beforeEach } from '@jest/globals';
import type { StreamOptions } from '../../../libs/redis-patterns/src/stream/index.js';
import type { SharedTopology } from '../../support/topologies.js';
import { openStreams, type TestStreams } from './test-streams.js';

/** What most specs look at. */
export interface StreamPlace {
  /** Of the running test, in a namespace of its own. */
  readonly streams: TestStreams;
  /** Key of a stream. */
  key(stream: string): string;
  /** Key of what a group keeps beside a stream, or, without a group, of what the stream keeps. */
  companion(role: string, stream: string, group?: string): string;
  pendingCount(stream: string, group: string): Promise<number | undefined>;
}

/** Opens streams before each test of a suite, and closes them after it. */
export function useStreams(topology: SharedTopology, options: StreamOptions = {}): StreamPlace {
  let streams: TestStreams;
  beforeEach(async () => {
    streams = await openStreams(topology.connection, await topology.newNamespace(), options);
  });
  afterEach(() => streams.close());
  const key = (stream: string): string => `${streams.namespace}:stream:${stream}`;
  return {
    get streams() {
      return streams;
    },
    key,
    companion: (role, stream, group) =>
      `${streams.namespace}:stream~${role}:{${key(stream)}}${group === undefined ? '' : `:${group}`}`,
    pendingCount: async (stream, group) => (await streams.admin.pending(stream, group))?.count,
  };
}
