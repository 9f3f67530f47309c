import type { EngineContext, Operation } from '../connection/index.js';
import type { Key } from '../keys/index.js';
import { sendScript, type Script } from '../scripting/index.js';
import { beginScript, completeScript, extendScript, freeScript } from './scripts.generated.js';

/** Which run of which record. */
export interface Claim {
  /** Key in Redis. */
  readonly record: string;
  readonly fingerprint: string;
  readonly token: string;
}

/** A reply, and when the request that was answered was sent, on the clock of `performance.now()`. */
export interface Answered<Reply> {
  readonly reply: Reply;
  readonly sentAt: number;
}

export type BeginReply =
  | [state: 'new', fence: string]
  | [state: 'replay', result: string]
  | [state: 'busy', leftMs: number]
  | [state: 'mismatch'];

type Limits<Reply> = Partial<Pick<Operation<Reply>, 'deadline' | 'signal' | 'wait' | 'onLate'>>;

/** What idempotency says to Redis. */
export class IdempotencyCommands {
  constructor(private readonly context: EngineContext) {}

  /** Milliseconds. */
  get commandTimeout(): number {
    return this.context.connection.commandTimeout;
  }

  /** @throws InvalidKeyError */
  recordOf(key: Key): string {
    return this.context.keys.main('idempotency', key);
  }

  begin(
    { record, fingerprint, token }: Claim,
    leaseMs: number,
    limits: Limits<BeginReply>,
  ): Promise<Answered<BeginReply>> {
    return this.#run(beginScript, record, [fingerprint, token, leaseMs], { wait: true, ...limits });
  }

  extend({ record, token }: Claim, leaseMs: number, deadline: number): Promise<Answered<0 | 1>> {
    return this.#run(extendScript, record, [token, leaseMs], { wait: true, deadline });
  }

  async complete({ record, fingerprint, token }: Claim, ttlMs: number, result: string, wait: boolean): Promise<0 | 1> {
    return (await this.#run(completeScript, record, [token, fingerprint, ttlMs, result], { wait })).reply;
  }

  async free({ record, token }: Claim, wait: boolean): Promise<0 | 1> {
    return (await this.#run(freeScript, record, [token], { wait })).reply;
  }

  async #run<Args extends readonly (string | number)[], Reply>(
    script: Script<[record: string], Args, Reply>,
    record: string,
    args: Args,
    limits: Limits<Reply>,
  ): Promise<Answered<Reply>> {
    let sentAt = 0;
    const reply = await this.context.connection.run<Reply>({
      name: script.name,
      effect: script.effect,
      key: record,
      ...limits,
      // A lease is counted from the request that was answered, not from the call, which may have waited for a connection.
      send: (client) => {
        sentAt = performance.now();
        return sendScript(client, script, [record], args);
      },
    });
    return { reply, sentAt };
  }
}
