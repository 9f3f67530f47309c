import type { EngineContext } from '../connection/index.js';
import { runScript, type Script } from '../scripting/index.js';
import type { RecordReply } from './session-data.js';
import type { SessionAddress } from './session-id.js';
import { newWriteToken } from './session-id.js';
import { throwUnavailable } from './session.errors.js';
import {
  createScript,
  destroyScript,
  getScript,
  indexConfirmScript,
  indexEnterScript,
  indexLeaveScript,
  indexMembersScript,
  indexRevokeScript,
  peekScript,
  removeScript,
  rotateScript,
  touchScript,
  updateScript,
} from './scripts.generated.js';

/** How long a session may take to begin, milliseconds: then it is taken for one that was revoked. */
const EPOCH = 300_000;

type Flat = readonly string[];

/** Whose a session is, and since which turn of the index: the order in which sessions became theirs. */
export interface Owner {
  readonly principal: string;
  readonly turn: number;
}

const NOBODY: Owner = { principal: '', turn: 0 };

/** What sessions say to Redis: each call is one script on one slot. */
export class SessionCommands {
  constructor(private readonly context: EngineContext) {}

  /** @param owner whose it is, if anybody's */
  create(
    { handle, hash }: SessionAddress,
    times: { idle: number; absolute: number },
    owner: Owner | undefined,
    fields: Flat,
  ) {
    const { principal, turn } = owner ?? NOBODY;
    const args = [hash, times.idle, times.absolute, principal, turn, ...fields] as const;
    return this.#run(createScript, [this.#record(handle)], [...args]);
  }

  get({ handle, hash }: SessionAddress, touch: boolean): Promise<RecordReply | null> {
    return this.#run(getScript, [this.#record(handle)], [hash, touch ? 1 : 0]);
  }

  touch({ handle, hash }: SessionAddress, idle: number): Promise<0 | 1> {
    return this.#run(touchScript, [this.#record(handle)], [hash, idle]);
  }

  update({ handle, hash }: SessionAddress, fields: Flat, ifVersion: string, maxBytes: number) {
    return this.#run(updateScript, [this.#record(handle)], [hash, newWriteToken(), ifVersion, maxBytes, ...fields]);
  }

  /** @param owner whose it is from now on; without it that stays as it is */
  rotate({ handle, hash }: SessionAddress, newHash: string, graceMs: number, owner?: Owner): Promise<0 | 1 | 2> {
    const { principal, turn } = owner ?? NOBODY;
    return this.#run(rotateScript, [this.#record(handle)], [hash, newHash, graceMs, principal, turn]);
  }

  destroy({ handle, hash }: SessionAddress): Promise<string | null> {
    return this.#run(destroyScript, [this.#record(handle)], [hash]);
  }

  /** @param principal `''` for anybody's */
  remove(handle: string, principal: string): Promise<string | null> {
    return this.#run(removeScript, [this.#record(handle)], [principal]);
  }

  peek(handle: string, principal: string): Promise<RecordReply | null> {
    return this.#run(peekScript, [this.#record(handle)], [principal]);
  }

  enter(principal: string, handle: string, absolute: number) {
    return this.#run(indexEnterScript, this.#index(principal), [handle, absolute, EPOCH]);
  }

  confirm(principal: string, handle: string, absolute: number, epoch: string, dead: Flat): Promise<number> {
    return this.#run(indexConfirmScript, this.#index(principal), [handle, absolute, epoch, ...dead]);
  }

  /** @param entries handle and end of each; `''` for any end */
  async leave(principal: string, entries: Flat): Promise<void> {
    if (entries.length > 0) await this.#run(indexLeaveScript, [this.#index(principal)[0]], [...entries]);
  }

  members(principal: string, offset: number, count: number): Promise<string[]> {
    return this.#run(indexMembersScript, [this.#index(principal)[0]], [offset, count]);
  }

  revoke(principal: string, count: number): Promise<string[]> {
    return this.#run(indexRevokeScript, this.#index(principal), [count]);
  }

  #record(handle: string): string {
    return this.context.keys.main('session', [handle]);
  }

  #index(principal: string): [index: string, epoch: string] {
    const { keys } = this.context;
    const index = keys.main('session-principal', [principal]);
    return [index, keys.companion('session-principal', 'epoch', index)];
  }

  async #run<Keys extends readonly string[], Args extends readonly (string | number)[], Reply>(
    script: Script<Keys, Args, Reply>,
    keys: Keys,
    args: Args,
  ): Promise<Reply> {
    try {
      return await runScript(this.context.connection, script, keys, args, { wait: true });
    } catch (error) {
      return throwUnavailable(error);
    }
  }
}
