import { MessageInvalidError } from '../message-schema.js';
import { decodeHeaders, readFields, type RawMessage } from '../message.js';
import type { HeldEntry } from './held-entry.js';
import type { Moves } from './moves.js';
import { validatorFor, type Route, type Routes } from './routes.js';
import type { ReaderScope } from './scope.js';
import type { Acks } from './settle.js';

/** An entry whose handler can be called. */
export interface Prepared {
  readonly entry: HeldEntry;
  readonly route: Route;
  readonly message: RawMessage;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** Pause before a type that nobody knows yet is looked at again, with `onUnknownType: 'retry'`: half its age, within these. */
const UNKNOWN_TYPE_PAUSE = { least: 1000, most: 60_000 };

/** Finds the handler of an entry, and makes of its payload what the handler gets; disposes of what cannot be handled. */
export class Preparation {
  constructor(
    private readonly scope: ReaderScope,
    private readonly routes: Routes,
    private readonly acks: Acks,
    private readonly moves: Moves,
  ) {}

  /** @returns `undefined` when no handler is to be called; a promise only where the schema gives one */
  prepare(entry: HeldEntry): Prepared | undefined | Promise<Prepared | undefined> {
    const message = readFields(entry.fields);
    const route = this.routes.find(message.type);
    if (route === undefined) return this.#unknownType(entry, message.type);
    if (this.#isOversize(message.data)) {
      this.moves.bury(entry, 'oversize', `the payload is above stream.maxPayload (${this.scope.maxPayload} bytes)`);
      return undefined;
    }
    let decoded: Prepared;
    try {
      // Written out, not spread: this is on the path of every message.
      decoded = { entry, route, message, headers: decodeHeaders(message.headers), body: this.#decode(message.data) };
    } catch (error) {
      this.moves.bury(entry, 'decode', error);
      return undefined;
    }
    const validator = validatorFor(route, message.type);
    if (validator === undefined) return decoded;
    try {
      const body = validator(decoded.body);
      if (!(body instanceof Promise)) return { ...decoded, body };
      return body.then(
        (value: unknown) => ({ ...decoded, body: value }),
        (error: unknown) => this.#invalid(entry, error),
      );
    } catch (error) {
      return this.#invalid(entry, error);
    }
  }

  #decode(data: string | undefined): unknown {
    if (data === undefined) throw new SyntaxError("the entry has no field 'data'");
    return this.scope.known.codec.decode(data);
  }

  #isOversize(data: string | undefined): boolean {
    const { maxPayload } = this.scope;
    return data !== undefined && data.length * 3 > maxPayload && Buffer.byteLength(data) > maxPayload;
  }

  #invalid(entry: HeldEntry, error: unknown): undefined {
    // A schema that itself breaks says nothing about the payload.
    if (!(error instanceof MessageInvalidError)) throw error;
    this.moves.bury(entry, 'validation', error);
    return undefined;
  }

  #unknownType(entry: HeldEntry, type: string | undefined): undefined {
    const { scope, acks, moves } = this;
    switch (scope.options.onUnknownType) {
      case 'ack':
        acks.add(entry);
        return undefined;
      case 'retry': {
        const age = Date.now() - Number(entry.originalId.split('-')[0]);
        const delay = Math.min(UNKNOWN_TYPE_PAUSE.most, Math.max(UNKNOWN_TYPE_PAUSE.least, age / 2));
        moves.retry(entry, { delay, attempt: entry.failures });
        return undefined;
      }
      case 'dead-letter': {
        const text = type === undefined ? 'without a type' : `of type '${type}'`;
        moves.bury(entry, 'unknown-type', `${scope.label} has no handler for messages ${text}`);
        return undefined;
      }
    }
  }
}
