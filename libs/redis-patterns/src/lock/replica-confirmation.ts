import type { RedisClient } from '../connection/index.js';
import type { Script } from '../scripting/index.js';

/** How long replicas have, milliseconds. It holds up the whole socket. */
const REPLICA_TIME = 100;

/** Sends a script together with WAIT, which asks the replicas whether they have what it wrote. */
export class ReplicaConfirmation {
  #confirmed = 0;

  /** @param replicas how many have to confirm it */
  constructor(private readonly replicas: number) {}

  /** Whether too few replicas have confirmed what was written. */
  get isMissing(): boolean {
    return this.#confirmed < this.replicas;
  }

  get text(): string {
    const those = `${this.#confirmed} of ${this.replicas} replicas (replicaAck)`;
    return `it was confirmed by ${those} within ${REPLICA_TIME} ms, and given back; look at the replicas`;
  }

  /** In one packet and for one node, as WAIT counts what its own socket has written. */
  readonly send = async <Keys extends readonly string[], Args extends readonly (string | number)[], Reply>(
    client: RedisClient,
    script: Script<Keys, Args, Reply>,
    keys: Keys,
    args: Args,
  ): Promise<Reply> => {
    const parameters = [keys.length, ...keys, ...args] as const;
    const known = client.pipeline().evalsha(script.sha, ...parameters);
    const [error, reply] = await this.#exec(known);
    if (error === null) return reply as Reply;
    if (!error.message.startsWith('NOSCRIPT')) throw error;
    const [failure, result] = await this.#exec(client.pipeline().eval(script.lua, ...parameters));
    if (failure !== null) throw failure;
    return result as Reply;
  };

  async #exec(pipeline: ReturnType<RedisClient['pipeline']>): Promise<[Error | null, unknown]> {
    const [script, wait] = (await pipeline.wait(this.replicas, REPLICA_TIME).exec())!;
    const [error] = script!;
    // A WAIT that fails confirms nothing.
    if (wait![0] !== null && error === null) throw wait![0];
    this.#confirmed = Number(wait![1]);
    return script!;
  }
}
