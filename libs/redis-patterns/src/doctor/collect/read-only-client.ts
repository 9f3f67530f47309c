import type { DirectClient } from '../../connection/index.js';
import type { Answer } from '../snapshot.js';

/** All that the doctor ever sends, besides what opens a socket (AUTH, CLIENT SETNAME). Nothing of it writes or blocks. */
export const ALLOWED_COMMANDS = [
  'ACL WHOAMI',
  'CLIENT LIST',
  'CLIENT NO-TOUCH',
  'CLUSTER SLOTS',
  'CONFIG GET',
  'HLEN',
  'INFO',
  'LATENCY HISTOGRAM',
  'LATENCY LATEST',
  'LLEN',
  'MEMORY USAGE',
  'OBJECT FREQ',
  'PING',
  'PTTL',
  'SCAN',
  'SCARD',
  'SELECT',
  'SENTINEL CKQUORUM',
  'SENTINEL GET-MASTER-ADDR-BY-NAME',
  'SLOWLOG GET',
  'TYPE',
  'XINFO CONSUMERS',
  'XINFO GROUPS',
  'XINFO STREAM',
  'XLEN',
  'XPENDING',
  'ZCARD',
] as const;
export type AllowedCommand = (typeof ALLOWED_COMMANDS)[number];
export type ReadCommand = readonly [AllowedCommand, ...(string | number | Buffer)[]];

const ALLOWED: ReadonlySet<string> = new Set(ALLOWED_COMMANDS);

/** The doctor's only way to a server: it sends what is on the list, and nothing else. */
export class ReadOnlyClient {
  /** The first failure that was not a refusal: from then on nothing is answered. */
  lost: string | undefined;
  /** The database that it asks. */
  #database = 0;

  constructor(private readonly client: DirectClient) {}

  get database(): number {
    return this.#database;
  }

  get address(): string {
    return this.client.address;
  }

  /** @throws Error with Redis' words, without arguments; or when the command is not on the list */
  async call(...command: ReadCommand): Promise<unknown> {
    const words = split(command);
    try {
      const reply = await this.client.call(words);
      if (command[0] === 'SELECT') this.#database = Number(command[1]);
      return reply;
    } catch (error) {
      this.#noteLoss(error as Error);
      throw error;
    }
  }

  /** The same as an answer: a refusal is one, too. */
  async ask<T>(read: (reply: unknown) => T, ...command: ReadCommand): Promise<Answer<T>> {
    try {
      return { value: read(await this.call(...command)) };
    } catch (error) {
      return { reason: reasonOf(error as Error, command[0]) };
    }
  }

  /** The reply of each, or its error. */
  async pipeline(commands: readonly ReadCommand[]): Promise<unknown[]> {
    try {
      return await this.client.pipeline(commands.map(split));
    } catch (error) {
      this.#noteLoss(error as Error);
      throw error;
    }
  }

  close(): void {
    this.client.close();
  }

  #noteLoss(error: Error): void {
    if (!isRefusal(error)) this.lost ??= error.message;
  }
}

/** @throws Error when the command is not on the list */
function split([name, ...args]: ReadCommand): (string | number | Buffer)[] {
  if (!ALLOWED.has(name)) throw new Error(`the doctor does not send ${String(name)}`);
  return [...name.split(' '), ...args];
}

/** Whether Redis answered. */
export function isRefusal(error: Error): boolean {
  return /^[A-Z]{2,}[A-Z0-9]* /.test(error.message);
}

/** Why a command was not answered, for `notChecked`. */
export function reasonOf(error: Error, command: string): string {
  if (error.message.startsWith('NOPERM')) return `NOPERM: the user may not run ${command}`;
  if (/unknown (?:sub)?command|Unknown subcommand|syntax error/i.test(error.message)) {
    return `this version of Redis has no ${command}, or the service hides it`;
  }
  return `${command}: ${error.message}`;
}
