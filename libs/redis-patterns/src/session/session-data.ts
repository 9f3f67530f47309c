import { ClassTypes, CodecError, fromTaggedText, toTaggedText, ValueCodec } from '../codec/index.js';
import { InvalidOptionsError } from '../core/index.js';
import { SessionTooLargeError } from './session.errors.js';
import type { ResolvedSessionOptions } from './session.options.js';
import type { Session } from './session.js';

/** What the scripts give of a record. */
export type RecordReply = readonly [now: number, endsIn: number, fields: readonly string[]];

const DATA = 'd:';

/** How the data of a session lies in its hash: each top-level field of its own, so that changes of different fields do not meet. */
export class SessionData {
  readonly #values: ValueCodec;
  readonly #maxBytes: number;

  constructor({ types, codec, maxBytes }: Pick<ResolvedSessionOptions, 'types' | 'codec' | 'maxBytes'>) {
    const classes = new ClassTypes();
    classes.add(types, 'session');
    this.#values = new ValueCodec(classes, codec);
    this.#maxBytes = maxBytes;
  }

  /**
   * Name and text of each field; `''` for one that is `undefined`.
   *
   * @param flatten what cannot be stored so that it comes back equal is stored as its JSON, or left out without one
   * @throws CodecError, InvalidOptionsError, SessionTooLargeError
   */
  encode(data: unknown, where: string, flatten = false): string[] {
    if (typeof data !== 'object' || data === null || Array.isArray(data)) {
      throw new InvalidOptionsError(where, [{ path: '', message: 'the data of a session is an object of fields' }]);
    }
    const fields: string[] = [];
    let bytes = 0;
    for (const [name, value] of Object.entries(data)) {
      if (name === '__proto__') throw new CodecError("the data has a field '__proto__', which cannot be stored", name);
      const text = value === undefined ? '' : this.#textOf(name, value, flatten);
      fields.push(DATA + name, text);
      if (text !== '') bytes += Buffer.byteLength(name) + DATA.length + Buffer.byteLength(text);
    }
    if (bytes > this.#maxBytes) throw new SessionTooLargeError(bytes, this.#maxBytes);
    return fields;
  }

  /** Whose the session is, since which turn, and how many milliseconds it has left at most. */
  ownerOf([now, , flat]: RecordReply): { principal: string | undefined; turn: number; left: number } {
    const valueOf = (name: string): string | undefined =>
      flat.find((_, index) => index % 2 === 1 && flat[index - 1] === name);
    return {
      principal: valueOf('_u'),
      turn: Number(valueOf('_t') ?? 0),
      left: Math.max(1, Number(valueOf('_a')) - now),
    };
  }

  /** @throws CodecError when something else wrote it, or a class is missing in `types` */
  decode<Data extends object>(handle: string, [now, endsIn, flat]: RecordReply): Session<Data> {
    const meta = new Map<string, string>();
    const data: [string, unknown][] = [];
    for (let index = 0; index < flat.length; index += 2) {
      const name = flat[index]!;
      const text = flat[index + 1]!;
      if (name.startsWith(DATA)) data.push([name.slice(DATA.length), fromTaggedText(this.#values, text)]);
      else meta.set(name, text);
    }
    return {
      handle,
      principal: meta.get('_u'),
      createdAt: new Date(Number(meta.get('_c'))),
      expiresAt: new Date(now + endsIn),
      endsAt: new Date(Number(meta.get('_a'))),
      version: Number(meta.get('_v')),
      data: Object.fromEntries(data) as Data,
    };
  }

  #textOf(name: string, value: unknown, flatten: boolean): string {
    try {
      return toTaggedText(this.#values, value);
    } catch (error) {
      if (!(error instanceof CodecError)) throw error;
      if (!flatten)
        throw new CodecError(`the field '${name}' of the session: ${error.message}`, error.path, { cause: error });
    }
    const json = JSON.stringify(value) as string | undefined;
    return json === undefined ? '' : toTaggedText(this.#values, JSON.parse(json));
  }
}
