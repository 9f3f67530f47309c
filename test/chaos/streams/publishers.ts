import {
  StreamPublishError,
  type PublishOptions,
  type StreamProducer,
} from '../../../libs/redis-patterns/src/stream/index.js';
import { outcomeOf } from '../support/load.js';
import type { Published } from './account.js';
import { clock, type Body } from './records.js';

const PUBLISHERS = 4;
const KEYS = 23;
type Outcome = Published['outcome'];

/** Publish without an end, and write down what they were told. */
export class Publishers {
  #publishing: Promise<unknown> | undefined;
  #stopped = false;
  #count = 0;

  constructor(
    private readonly producer: StreamProducer,
    private readonly stream: string,
    private readonly records: Map<string, Published>,
    /** Replicas of each master; one of the publishers has every message confirmed by all of them. */
    private readonly replicas: number,
  ) {}

  /** Messages that were begun. */
  get count(): number {
    return this.#count;
  }

  /** @param pause milliseconds between two messages of one publisher */
  start(pause: number): void {
    const loop = async (options: PublishOptions): Promise<void> => {
      while (!this.#stopped) {
        await this.#publish(options);
        await new Promise((resolve) => setTimeout(resolve, pause));
      }
    };
    const confirmed = this.replicas > 0 ? [loop({ replicaAck: { replicas: this.replicas, timeout: 500 } })] : [];
    this.#publishing = Promise.all([...Array.from({ length: PUBLISHERS }, () => loop({})), ...confirmed]);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#publishing;
  }

  /** Some messages fail in one group, some in both. Every second one has a `dedupId`, so that it may be sent again. */
  async #publish(options: PublishOptions): Promise<void> {
    const n = this.#count++;
    const fails = n % 50 === 7 ? (['a'] as const) : n % 50 === 31 ? (['a', 'b'] as const) : [];
    const body: Body = { id: `${n}`, fails };
    const replicated = options.replicaAck !== undefined;
    const times = { startedAt: clock(), endedAt: Infinity };
    const record: Published = { ...body, ...times, outcome: 'not-sent', told: [], ids: new Set(), replicated };
    this.records.set(body.id, record);
    if (n % 2 === 1 || replicated) await this.#send(body, options, record);
    else await this.#sendAgain(body, { ...options, dedupId: body.id }, record);
  }

  /** Until it was answered; every fourth one even once more. */
  async #sendAgain(body: Body, options: PublishOptions, record: Published): Promise<void> {
    for (let n = 0; n < 20 && record.outcome !== 'ok'; n++) await this.#send(body, options, record);
    if (Number(body.id) % 8 === 0) await this.#send(body, options, record);
  }

  async #send(body: Body, options: PublishOptions, record: Published): Promise<void> {
    const key = `${Number(body.id) % KEYS}`;
    const outcome = await this.producer.publish(this.stream, body, { key, ...options }).then(
      (id): Outcome => {
        record.ids.add(id);
        return 'ok';
      },
      (error: unknown) => {
        const outcome = error instanceof StreamPublishError ? 'unknown' : outcomeOf(error);
        record.told.push(`${outcome}: ${(error as Error).message}`);
        return outcome;
      },
    );
    // What may have arrived once may have arrived.
    if (outcome === 'ok' || record.outcome !== 'unknown') record.outcome = record.outcome === 'ok' ? 'ok' : outcome;
    record.endedAt = clock();
  }
}
