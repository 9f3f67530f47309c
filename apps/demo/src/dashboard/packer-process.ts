import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** A process that packs beside this shop, to be killed. It ends with this process at the latest. */
export class PackerProcess {
  /** Orders that it has begun to pack. */
  readonly orders: string[] = [];
  ready = false;
  readonly #child: ChildProcess;

  constructor() {
    this.#child = fork(fileURLToPath(new URL('../packer.js', import.meta.url)));
    this.#child.on('message', (message: { ready?: boolean; packing?: string }) => {
      this.ready ||= message.ready === true;
      if (message.packing !== undefined) this.orders.push(message.packing);
    });
    // Without a listener it would end this process; that it does not run is seen anyway.
    this.#child.on('error', () => undefined);
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  get running(): boolean {
    return this.#child.pid !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** SIGKILL: it can neither finish anything nor tell anybody. */
  async kill(): Promise<void> {
    if (!this.running) return;
    const exited = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await exited;
  }
}
