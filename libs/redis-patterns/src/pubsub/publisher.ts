import { randomBytes } from 'node:crypto';
import { encodeValue } from '../codec/index.js';
import { nodeFor, type EngineContext } from '../connection/index.js';
import { validate } from '../core/standard-schema.js';
import { runScript } from '../scripting/index.js';
import type { Target } from './channel-book.js';
import { countedFrame } from './frame.js';
import { PubSubPayloadError } from './pubsub.errors.js';
import { publishScript } from './scripts.generated.js';

/** Channels of which counts are kept. */
const MAX_COUNTS = 10_000;

/** Sends messages. */
export class Publisher {
  readonly #counts = new Map<string, { readonly sender: string; last: number }>();

  constructor(private readonly context: EngineContext) {}

  async publish(target: Target, payload: unknown): Promise<void> {
    const { key, kind, settings } = target;
    const text = await encode(target, payload);
    const { connection } = this.context;
    if (settings.delivery === 'reliable') {
      const command = settings.sharded ? 'SPUBLISH' : 'PUBLISH';
      const args = [text, settings.maxLen, settings.ttl, command] as const;
      await runScript(connection, publishScript, [key], [...args], { wait: true });
      return;
    }
    await connection.run({
      name: 'pubsub.publish',
      effect: 'once',
      key,
      wait: true,
      send: (client) => {
        const message = settings.sequence ? this.#counted(key, text) : text;
        return kind === 'shard' ? client.spublish(key, message) : nodeFor(client, key).publish(key, message);
      },
    });
  }

  /** Counted when it is sent: what was not sent leaves no hole. */
  #counted(key: string, text: string): string {
    let count = this.#counts.get(key);
    if (count === undefined) {
      // Whoever begins to count anew is another sender.
      if (this.#counts.size >= MAX_COUNTS) this.#counts.clear();
      count = { sender: randomBytes(6).toString('base64url'), last: 0 };
      this.#counts.set(key, count);
    }
    return countedFrame(count.sender, ++count.last, text);
  }
}

/** @throws PubSubPayloadError, CodecError */
async function encode({ name, settings: { raw, schema } }: Target, payload: unknown): Promise<string> {
  const refuse = (issues: readonly string[]) => new PubSubPayloadError(name, issues);
  if (schema !== undefined) await validate(schema, payload, refuse);
  if (!raw) return encodeValue(payload);
  if (typeof payload === 'string') return payload;
  throw refuse(["with 'raw' it must be a text; give JSON.stringify(value), or leave 'raw' out"]);
}
