import type { RedisConnection } from '../connection/index.js';

/** Stands where a pattern has no connection: using it says what to configure, having it costs nothing. */
export class MissingConnection implements RedisConnection {
  readonly name = 'none';
  readonly mode = 'standalone';
  readonly commandTimeout = 0;
  readonly readsReplicas = false;

  constructor(private readonly reason: Error) {}

  run(): Promise<never> {
    return Promise.reject(this.reason);
  }

  withBlocking(): Promise<never> {
    return Promise.reject(this.reason);
  }

  /** Whoever asks is about to use it. */
  get maxBlocking(): never {
    throw this.reason;
  }

  subscribe(): never {
    throw this.reason;
  }

  track(): never {
    throw this.reason;
  }

  masters(): never {
    throw this.reason;
  }

  direct(): never {
    throw this.reason;
  }

  stats(): never {
    throw this.reason;
  }
}
