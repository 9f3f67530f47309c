import { trimStream } from '../trimming.js';
import type { KnownStream } from '../stream-book.js';
import { StreamFullError } from '../stream.errors.js';

/** A stream is measured at most so often by one process, milliseconds. */
const INTERVAL = 1000;

/** Refuses messages for a stream that is too long. Its length is looked at once a second, while messages are published. */
export class Backlog {
  #nextLook = 0;
  #length = 0;
  #looking: Promise<void> | undefined;

  constructor(
    private readonly stream: KnownStream,
    private readonly abandonAfter: number,
  ) {}

  /**
   * @returns what to wait for before publishing: only while the stream is too long, and might no longer be
   * @throws StreamFullError
   */
  check(): Promise<void> | undefined {
    const { mode, maxBacklog } = this.stream.retention;
    if (mode === 'hard') return undefined;
    const isDue = performance.now() >= this.#nextLook;
    if (isDue) this.#look();
    if (this.#length <= maxBacklog) return undefined;
    if (this.#looking === undefined) throw this.#full();
    return this.#looking.then(() => {
      if (this.#length > maxBacklog) throw this.#full();
    });
  }

  #look(): void {
    this.#nextLook = performance.now() + INTERVAL;
    // Where Redis does not answer, publishing will say so itself.
    this.#looking ??= this.#measure().catch(() => undefined);
  }

  async #measure(): Promise<void> {
    const { context, keys, retention } = this.stream;
    try {
      let length = await context.connection.run({
        name: 'stream.length',
        effect: 'read',
        key: keys.stream,
        send: (client) => client.xlen(keys.stream),
      });
      if (length > retention.maxBacklog) {
        ({ length } = await trimStream(this.stream, { abandonAfter: this.abandonAfter, interval: 0 }));
      }
      this.#length = length;
    } finally {
      this.#looking = undefined;
    }
  }

  #full(): StreamFullError {
    return new StreamFullError(this.stream.name, this.#length, this.stream.retention.maxBacklog);
  }
}
