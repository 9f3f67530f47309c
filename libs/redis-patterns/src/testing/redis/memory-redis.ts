import { globExpression, integer } from './arguments.js';
import { runCommand } from './commands.js';
import { Keyspace, ReplyError, type Reply } from './keyspace.js';
import { ScriptEngine } from './script-engine.js';
import { readGroup } from './streams.js';

/** Called with each message; `channel` is the one that it was published to. */
export type Listener = (payload: string, channel: string) => void;

/** A read that waits for an entry. */
interface Blocked {
  readonly args: string[];
  settle(error: Error | undefined, reply?: Reply): void;
}

/** A Redis in the memory of this process, with the commands and scripts that the patterns use. One for each application. */
export class MemoryRedis {
  readonly keyspace = new Keyspace();
  readonly #scripts = new ScriptEngine((name, args) => this.#run(name, args));
  readonly #listeners = new Map<string, Set<Listener>>();
  readonly #patterns = new Map<string, { readonly glob: RegExp; readonly listeners: Set<Listener> }>();
  readonly #blocked = new Set<Blocked>();

  /** @throws ReplyError */
  call(name: string, args: readonly unknown[]): Reply {
    const words = args.map((arg) => (Buffer.isBuffer(arg) ? arg.toString() : String(arg)));
    const reply = this.#run(name.toUpperCase(), words);
    this.#wake();
    return reply;
  }

  /** XREADGROUP that waits for as long as its BLOCK says, or until `signal` aborts. */
  read(args: readonly unknown[], signal: AbortSignal): Promise<Reply> {
    const words = args.map(String);
    const now = this.call('XREADGROUP', words);
    const at = words.findIndex((word) => word.toUpperCase() === 'BLOCK');
    if (now !== null || at < 0) return Promise.resolve(now);
    return new Promise((resolve, reject) => {
      const settle: Blocked['settle'] = (error, reply = null) => {
        this.#blocked.delete(blocked);
        clearTimeout(timer);
        signal.removeEventListener('abort', onAbort);
        if (error === undefined) resolve(reply);
        else reject(error);
      };
      const onAbort = (): void => settle(new Error('Connection is closed.'));
      const blocked: Blocked = { args: words, settle };
      const timer = setTimeout(() => settle(undefined), integer(words[at + 1])).unref();
      signal.addEventListener('abort', onAbort);
      this.#blocked.add(blocked);
    });
  }

  subscribe(kind: 'channel' | 'pattern', name: string, listener: Listener): () => void {
    const listeners = kind === 'channel' ? this.#ofChannel(name) : this.#ofPattern(name);
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  #run(name: string, args: string[]): Reply {
    switch (name) {
      case 'EVAL':
      case 'EVALSHA': {
        const [script = '', count, ...rest] = args;
        const keys = rest.slice(0, integer(count));
        const values = rest.slice(integer(count));
        return name === 'EVAL' ? this.#scripts.run(script, keys, values) : this.#scripts.runKnown(script, keys, values);
      }
      case 'SCRIPT':
        if (args[0]?.toUpperCase() !== 'LOAD') throw new ReplyError(`ERR unknown subcommand '${args[0]}'`);
        return this.#scripts.load(args[1] ?? '');
      case 'CLIENT':
        return this.#client(args[0]?.toUpperCase());
      case 'PUBLISH':
      case 'SPUBLISH':
        return this.#publish(args[0] ?? '', args[1] ?? '');
      default:
        return runCommand(this.keyspace, name, args);
    }
  }

  /** Whoever was not meant by UNBLOCK reads again. */
  #client(action: string | undefined): Reply {
    if (action === 'UNBLOCK') for (const blocked of this.#blocked) blocked.settle(undefined);
    return action === 'ID' || action === 'UNBLOCK' ? 1 : 'OK';
  }

  /** Listeners hear of it in a later turn, as over a socket. */
  #publish(channel: string, payload: string): number {
    const patterns = [...this.#patterns.values()].filter(({ glob }) => glob.test(channel));
    const listeners = [this.#listeners.get(channel), ...patterns.map((pattern) => pattern.listeners)];
    const all = listeners.flatMap((each) => [...(each ?? [])]);
    for (const listener of all) queueMicrotask(() => listener(payload, channel));
    return all.length;
  }

  #wake(): void {
    for (const blocked of this.#blocked) {
      try {
        const reply = readGroup(this.keyspace, blocked.args);
        if (reply !== null) blocked.settle(undefined, reply);
      } catch (error) {
        blocked.settle(error as Error);
      }
    }
  }

  #ofChannel(name: string): Set<Listener> {
    const known = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, known);
    return known;
  }

  #ofPattern(name: string): Set<Listener> {
    const known = this.#patterns.get(name) ?? { glob: globExpression(name), listeners: new Set<Listener>() };
    this.#patterns.set(name, known);
    return known.listeners;
  }
}
