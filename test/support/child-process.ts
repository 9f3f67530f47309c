import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { eventually } from './eventually.js';
import type { Message } from './parent.js';

export type { Message } from './parent.js';

const PRELOAD = new URL('./child-preload.mjs', import.meta.url).href;

export interface ProgramOptions {
  /** What `programData()` returns in the program; plain JSON. */
  data?: unknown;
  env?: Record<string, string>;
  args?: readonly string[];
}

/** A Node.js process that runs a TypeScript program on the sources of the library. */
export class Program {
  readonly messages: Message[] = [];
  #output = '';

  constructor(private readonly child: ChildProcess) {
    child.on('message', (message) => this.messages.push(message as Message));
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk: Buffer) => (this.#output += chunk.toString()));
    }
  }

  get pid(): number {
    if (this.child.pid === undefined) throw new Error('The program did not start');
    return this.child.pid;
  }

  /** Everything that it printed so far. */
  get output(): string {
    return this.#output;
  }

  get running(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  /** How it ended; undefined while it runs. */
  get ending(): { code: number | null; signal: NodeJS.Signals | null } | undefined {
    return this.running ? undefined : { code: this.child.exitCode, signal: this.child.signalCode };
  }

  send(message: Message): void {
    this.child.send(message);
  }

  /** All messages of a type that have come so far. */
  received(type: string): Message[] {
    return this.messages.filter((message) => message.type === type);
  }

  /**
   * Waits for the `count`th message of a type.
   *
   * @throws with the program's output, when it ends before
   */
  async next(type: string, { timeout = 30_000, count = 1 } = {}): Promise<Message> {
    const look = (): Message | undefined => this.received(type)[count - 1];
    await eventually(() => look() !== undefined || !this.running, { timeout, what: `message '${type}'` }).catch(
      (error) => {
        throw new Error(`${String(error)}\nThe program printed:\n${this.#output}`);
      },
    );
    // A last message and the end may arrive together.
    const found = look();
    if (found) return found;
    throw new Error(
      `The program ended (${JSON.stringify(this.ending)}) without '${type}'. It printed:\n${this.#output}`,
    );
  }

  /** Sends a signal, SIGKILL by default, and waits for the end. SIGSTOP and SIGCONT return at once. */
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    if (!this.running) return;
    this.child.kill(signal);
    if (signal !== 'SIGSTOP' && signal !== 'SIGCONT') await this.exited();
  }

  /** Waits for its end. */
  async exited({ timeout = 30_000 } = {}): Promise<{ code: number | null; signal: NodeJS.Signals | null }> {
    await eventually(() => !this.running, { timeout, what: 'the program to end' });
    return { code: this.child.exitCode, signal: this.child.signalCode };
  }
}

/**
 * Starts a program. It ends with the spec's process at the latest; call `kill` in `afterEach` all the same.
 *
 * @example
 * const worker = startProgram(new URL('./programs/worker.ts', import.meta.url), { data: { connection, namespace } });
 * await worker.next('ready');
 * await worker.kill();
 */
export function startProgram(file: URL, { data, env = {}, args = [] }: ProgramOptions = {}): Program {
  const child = fork(fileURLToPath(file), args, {
    execArgv: ['--import', PRELOAD, '--enable-source-maps'],
    env: { ...process.env, NODE_OPTIONS: '', ...env, REDIS_PATTERNS_PROGRAM_DATA: JSON.stringify(data ?? null) },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  return new Program(child);
}
