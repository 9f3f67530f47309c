import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../scripts/servers/ports.mjs';
import { eventually } from '../support/eventually.js';

const ENTRY = fileURLToPath(new URL('../../scripts/run.mjs', import.meta.url));
const WITH_PARENT = new URL('../../scripts/bootstrap/exit-with-parent.mjs', import.meta.url).href;

/** `npm run demo`, as a newcomer starts it: with a Redis of its own. It ends with this process at the latest. */
export class DemoProcess {
  output = '';

  private constructor(
    private readonly child: ChildProcess,
    readonly url: string,
  ) {
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk: Buffer) => (this.output += chunk.toString()));
    }
  }

  static async start(): Promise<DemoProcess> {
    const port = await freePort();
    const { REDIS_URL: _, PORT: __, NODE_OPTIONS: ___, ...env } = process.env;
    const child = fork(ENTRY, ['demo', `--port=${port}`], {
      env,
      execArgv: ['--import', WITH_PARENT],
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    const demo = new DemoProcess(child, `http://127.0.0.1:${port}`);
    try {
      await eventually(() => demo.output.includes(`the shop is at ${demo.url}`) || !demo.running, { timeout: 45_000 });
      if (!demo.running) throw new Error('it ended');
      return demo;
    } catch (error) {
      await demo.stop();
      throw new Error(`The demo did not start: ${String(error)}\n${demo.output}`, { cause: error });
    }
  }

  get running(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  /** Like Ctrl-C. @returns its exit code */
  async stop(): Promise<number | null> {
    if (this.running) {
      const exited = once(this.child, 'exit');
      this.child.kill('SIGTERM');
      const timer = setTimeout(() => this.child.kill('SIGKILL'), 20_000);
      await exited;
      clearTimeout(timer);
    }
    return this.child.exitCode;
  }
}
