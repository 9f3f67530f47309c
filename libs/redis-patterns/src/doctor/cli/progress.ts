/** A stream that is a terminal, or not. */
export interface ProgressStream {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

const WIDTH = 30;
const INTERVAL = 100;

/** A bar on a terminal; elsewhere nothing, so that logs and pipes stay clean. */
export class ProgressBar {
  #last = Number.NEGATIVE_INFINITY;
  #drawn = false;

  constructor(private readonly stream: ProgressStream) {}

  update({ keys, of }: { readonly keys: number; readonly of: number }): void {
    const now = performance.now();
    if (this.stream.isTTY !== true || now - this.#last < INTERVAL) return;
    this.#last = now;
    this.#drawn = true;
    const done = of === 0 ? 1 : Math.min(1, keys / of);
    const bar = '#'.repeat(Math.round(done * WIDTH)).padEnd(WIDTH, '.');
    this.stream.write(`\r[${bar}] ${keys} of ${of} keys`);
  }

  /** Takes it away. */
  end(): void {
    if (this.#drawn) this.stream.write('\r\u001b[K');
  }
}
