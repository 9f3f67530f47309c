import { sleep } from '../core/abort.js';
import { RedisCommandError } from '../connection/index.js';
import type { Telemetry } from '../telemetry/index.js';
import type { CommandLimits } from './entry-store.js';

const BATCH = 100;
/** Milliseconds that one attempt waits for the connection. */
const ATTEMPT = 5_000;
/** Milliseconds between attempts, and until what may have been undone is done again. */
const PAUSE = 1_000;

/** What the queue can do about its items. */
export interface RecoveryActions {
  evict(entryKey: string, limits: CommandLimits): Promise<unknown>;
  invalidate(tag: string, limits: CommandLimits): Promise<unknown>;
  clear(limits: CommandLimits): Promise<unknown>;
}

interface Item {
  readonly kind: keyof RecoveryActions;
  readonly name: string;
  /** Tells whether it was added again while it was being dealt with. */
  readonly added: number;
  /** A command that was given up may still run, after the eviction: that is made once more a while later. */
  readonly twice: boolean;
}

/**
 * Invalidations that Redis could not be told of: made when it answers again. Until then this process takes the entries for
 * missing. It holds names, never values, in memory alone: another process does not know of them, and they are lost with this
 * one. When there are too many, everything is cleared instead.
 */
export class RecoveryQueue {
  readonly #pending = new Map<string, Item>();
  readonly #closing = new AbortController();
  #added = 0;
  #draining = false;

  constructor(
    private readonly actions: RecoveryActions,
    private readonly telemetry: Telemetry,
    private readonly max: number,
  ) {}

  get size(): number {
    return this.#pending.size;
  }

  /** Whether the entry must not be used. */
  has(entryKey: string): boolean {
    return this.#pending.size > 0 && (this.#pending.has(`evict ${entryKey}`) || this.#pending.has(ALL));
  }

  readonly isInvalid = (tag: string): boolean => this.#pending.size > 0 && this.#pending.has(`invalidate ${tag}`);

  /** @param name the entry's key, the tag, or `''` for everything */
  add(kind: Item['kind'], name: string, twice = false): void {
    if (this.#closing.signal.aborted) return;
    const id = `${kind} ${name}`;
    const covered = this.#pending.has(ALL) && id !== ALL;
    if (!covered && this.#pending.size >= this.max && !this.#pending.has(id)) return this.#overflow();
    const item = { kind, name, added: this.#added++, twice: twice || (this.#pending.get(id)?.twice ?? false) };
    // Everything will be cleared: begin that anew, as the entry may be written after it has been passed.
    if (covered) this.#pending.set(ALL, { ...item, kind: 'clear', name: '' });
    else this.#pending.set(id, item);
    if (!this.#draining) void this.#drain();
  }

  close(): void {
    this.#closing.abort();
    this.#pending.clear();
  }

  async #drain(): Promise<void> {
    this.#draining = true;
    while (this.#pending.size > 0) {
      const batch = [...this.#pending].slice(0, BATCH);
      const done = await Promise.all(batch.map(([id, item]) => this.#settle(id, item)));
      if (done.includes(true)) continue;
      await sleep(PAUSE, this.#closing.signal).catch(() => {});
    }
    this.#draining = false;
  }

  /** @returns whether it is dealt with */
  async #settle(id: string, item: Item): Promise<boolean> {
    try {
      await this.#act(item);
      if (item.twice) void this.#repeat(item);
    } catch (error) {
      if (!(error instanceof RedisCommandError)) return false;
      this.#report('A queued eviction was given up: Redis refuses the command, so trying again would not help.', error);
    }
    if (this.#pending.get(id)?.added === item.added) this.#pending.delete(id);
    return true;
  }

  #act({ kind, name }: Item): Promise<unknown> {
    const limits = { deadline: ATTEMPT, wait: true, signal: this.#closing.signal };
    if (kind === 'clear') return this.actions.clear(limits);
    return kind === 'evict' ? this.actions.evict(name, limits) : this.actions.invalidate(name, limits);
  }

  async #repeat(item: Item): Promise<void> {
    try {
      await sleep(PAUSE, this.#closing.signal);
    } catch {
      return;
    }
    await this.#act(item).catch(() => this.add(item.kind, item.name));
  }

  #overflow(): void {
    this.#pending.clear();
    this.add('clear', '', true);
    this.#report(
      `More than ${this.max} evictions are queued: the whole cache is cleared instead, as soon as Redis answers.`,
    );
  }

  #report(message: string, error?: unknown): void {
    this.telemetry.emit('error', { pattern: 'Cache', code: 'ERR_CACHE_INVALIDATION', message, error });
  }
}

const ALL = 'clear ';
