import {
  classify,
  RedisCommandError,
  RedisUnavailableError,
  safeCause,
  type BlockingLease,
  type EngineContext,
} from '../../connection/index.js';
import { sleep } from '../../core/abort.js';

/** What is asked for beside the write itself. */
export interface ReplicaWish {
  readonly replicas: number;
  /** Milliseconds. */
  readonly timeout: number;
}

/** Both results of one publish; `confirmed`: how many replicas have it. */
export interface ReplicaAnswer {
  readonly id: string;
  readonly confirmed: number;
  /** Why WAIT confirmed nothing. */
  readonly failure: Error | null;
}

type Pipeline = ReturnType<BlockingLease['client']['pipeline']>;

interface Waiting extends ReplicaWish {
  readonly add: (pipeline: Pipeline) => Pipeline;
  readonly resolve: (answer: ReplicaAnswer) => void;
  readonly reject: (error: Error) => void;
}

/** Writes of one WAIT. */
const MAX_BATCH = 256;
/** Time without work after which the socket is given back. */
const IDLE = 5000;

/**
 * Publishes together with WAIT, on a socket of its own: WAIT holds up everything behind it on its socket, and counts only what
 * that socket has written. What waits at the same time shares one WAIT (a group commit).
 */
export class ReplicaLane {
  #queue: Waiting[] = [];
  #serving = false;
  #wake: AbortController | undefined;

  constructor(
    private readonly context: EngineContext,
    private readonly key: string,
  ) {}

  /**
   * @param add adds the write to the pipeline
   * @throws RedisUnavailableError; its outcome says whether the write may have happened
   */
  write(add: (pipeline: Pipeline) => Pipeline, wish: ReplicaWish): Promise<ReplicaAnswer> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ add, ...wish, resolve, reject });
      this.#wake?.abort();
      if (!this.#serving) void this.#serve();
    });
  }

  async #serve(): Promise<void> {
    this.#serving = true;
    try {
      await this.context.connection.withBlocking((lease) => this.#useLease(lease));
    } catch (error) {
      for (const { reject } of this.#queue.splice(0)) reject(this.#unavailable(error, 'not-sent'));
    } finally {
      this.#serving = false;
      if (this.#queue.length > 0) void this.#serve();
    }
  }

  async #useLease(lease: BlockingLease): Promise<void> {
    while (this.#queue.length > 0 || (await this.#moreToCome())) {
      await lease.ready(AbortSignal.timeout(this.context.connection.commandTimeout), this.key);
      await this.#sendBatch(lease, this.#queue.splice(0, MAX_BATCH));
    }
  }

  async #moreToCome(): Promise<boolean> {
    this.#wake = new AbortController();
    await sleep(IDLE, this.#wake.signal).catch(() => undefined);
    this.#wake = undefined;
    return this.#queue.length > 0;
  }

  async #sendBatch(lease: BlockingLease, batch: Waiting[]): Promise<void> {
    const timeout = Math.max(...batch.map((one) => one.timeout));
    const replicas = Math.max(...batch.map((one) => one.replicas));
    const pipeline = lease.client.pipeline();
    for (const { add } of batch) add(pipeline);
    const watchdog = setTimeout(() => lease.reset(), timeout + this.context.connection.commandTimeout);
    try {
      const replies = (await pipeline.wait(replicas, timeout).exec())!;
      const [waitError, confirmed] = replies[batch.length]!;
      batch.forEach((one, index) => {
        const [error, id] = replies[index]!;
        if (error !== null) one.reject(this.#failed(error, lease));
        else
          one.resolve({
            id: String(id),
            confirmed: waitError === null ? Number(confirmed) : 0,
            failure: waitError && safeCause(waitError),
          });
      });
    } catch (error) {
      for (const { reject } of batch) reject(this.#unavailable(error, 'unknown'));
    } finally {
      clearTimeout(watchdog);
    }
  }

  /** What became of one write: refused by Redis, or, where the socket died, unknown. */
  #failed(error: Error, lease: BlockingLease): Error {
    const { outcome, code, reply, text } = classify(error);
    // The socket is at the wrong server.
    if (reply === 'READONLY' || reply === 'MOVED') lease.reset();
    const details = {
      outcome,
      connection: this.context.connection.name,
      operation: 'stream.publish',
      elapsedMs: 0,
      cause: safeCause(error),
      ...(reply !== undefined && { reply }),
    };
    return code === undefined ? new RedisCommandError(text, details) : new RedisUnavailableError(code, text, details);
  }

  #unavailable(cause: unknown, outcome: 'not-sent' | 'unknown'): Error {
    if (cause instanceof RedisUnavailableError) return cause;
    const code = outcome === 'unknown' ? 'ERR_REDIS_CONNECTION_LOST' : 'ERR_REDIS_NOT_READY';
    const { name } = this.context.connection;
    return new RedisUnavailableError(code, 'the connection for replicaAck is not ready', {
      outcome,
      connection: name,
      operation: 'stream.publish',
      elapsedMs: 0,
      cause: safeCause(cause),
    });
  }
}
