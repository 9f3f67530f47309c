import { createHash } from 'node:crypto';
import { compile, type Program } from '../interpreter/compiler.js';
import { LIBRARY } from '../interpreter/library.js';
import { LuaError, numberText, textOf, type LuaValue } from '../interpreter/runtime.js';
import { LuaTable } from '../interpreter/table.js';
import { ReplyError, type Reply } from './keyspace.js';

/** Runs a command for a script. */
export type Call = (name: string, args: string[]) => Reply;

/** Commands whose text is a status. */
const STATUSES = new Set(['SET', 'TYPE', 'LTRIM', 'LSET', 'XGROUP', 'FLUSHALL', 'FLUSHDB', 'PFMERGE']);
const NO_SCRIPT = 'NOSCRIPT No matching script. Please use EVAL.';

/** Runs scripts as Redis does: each whole, before anything else. */
export class ScriptEngine {
  readonly #programs = new Map<string, Program>();
  readonly #redis: LuaTable;

  constructor(private readonly call: Call) {
    this.#redis = new LuaTable()
      .set('call', (name, ...args) => [this.#call(name, args)])
      .set('pcall', (name, ...args) => [this.#protectedCall(name, args)])
      .set('error_reply', (text) => [new LuaTable().set('err', text)])
      .set('status_reply', (text) => [new LuaTable().set('ok', text)])
      .set('replicate_commands', () => [true])
      .set('sha1hex', (text) => [sha1(textOf(text))])
      .set('log', () => []);
  }

  /** @throws ReplyError NOSCRIPT for one that was not run or loaded before */
  runKnown(sha: string, keys: string[], args: string[]): Reply {
    const program = this.#programs.get(sha);
    if (program === undefined) throw new ReplyError(NO_SCRIPT);
    return this.#run(program, keys, args);
  }

  run(source: string, keys: string[], args: string[]): Reply {
    return this.runKnown(this.load(source), keys, args);
  }

  /** @returns the name of the script for {@link runKnown} */
  load(source: string): string {
    const sha = sha1(source);
    if (!this.#programs.has(sha)) this.#programs.set(sha, compile(source));
    return sha;
  }

  #run(program: Program, keys: string[], args: string[]): Reply {
    const globals = new Map(LIBRARY)
      .set('KEYS', LuaTable.of(keys))
      .set('ARGV', LuaTable.of(args))
      .set('redis', this.#redis);
    try {
      return toReply(program(globals)[0]);
    } catch (error) {
      if (error instanceof LuaError) throw new ReplyError(error.message);
      throw error;
    }
  }

  #call(name: LuaValue, args: LuaValue[]): LuaValue {
    const reply = this.call(textOf(name).toUpperCase(), args.map(argument));
    return isStatus(textOf(name).toUpperCase(), args.length, reply) ? new LuaTable().set('ok', reply) : toLua(reply);
  }

  #protectedCall(name: LuaValue, args: LuaValue[]): LuaValue {
    try {
      return this.#call(name, args);
    } catch (error) {
      if (error instanceof ReplyError) return new LuaTable().set('err', error.message);
      throw error;
    }
  }
}

/** What SET gives with its option GET is a text. */
function isStatus(name: string, count: number, reply: Reply): reply is string {
  return typeof reply === 'string' && STATUSES.has(name) && (name !== 'SET' || reply === 'OK' || count < 3);
}

function sha1(text: string): string {
  return createHash('sha1').update(text).digest('hex');
}

/** Numbers go to Redis with 17 digits. */
function argument(value: LuaValue): string {
  if (typeof value === 'number') return numberText(value, 17);
  if (typeof value === 'string') return value;
  throw new LuaError('Lua redis lib command arguments must be strings or integers');
}

/** Nothing becomes false. */
function toLua(reply: Reply): LuaValue {
  if (reply === null) return false;
  return Array.isArray(reply) ? LuaTable.of(reply.map(toLua)) : reply;
}

/** Numbers are cut to integers, a table ends at its first nil. */
function toReply(value: LuaValue): Reply {
  if (value === undefined || value === false || typeof value === 'function') return null;
  if (value === true) return 1;
  if (typeof value === 'number') return Math.trunc(value);
  if (typeof value === 'string') return value;
  const error = value.get('err');
  if (error !== undefined) throw new ReplyError(textOf(error));
  const status = value.get('ok');
  if (status !== undefined) return textOf(status);
  const end = value.items.indexOf(undefined);
  return value.items.slice(0, end < 0 ? undefined : end).map(toReply);
}
