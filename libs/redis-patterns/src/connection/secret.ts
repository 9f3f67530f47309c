import { inspect } from 'node:util';

/**
 * Holds a password, or options with a private key, so that no log line, error, dump or JSON of the options can show it: everything that prints a value
 * sees `***`, only {@link Secret.reveal} gives it.
 */
export class Secret<T = string> {
  readonly #value: T;

  constructor(value: T) {
    this.#value = value;
  }

  reveal(): T {
    return this.#value;
  }

  toString(): string {
    return '***';
  }

  toJSON(): string {
    return '***';
  }

  [inspect.custom](): string {
    return '***';
  }
}

/** A password, or the function that gives the current one (rotation, cloud IAM tokens). */
export type PasswordSource = Secret | (() => string | Promise<string>);
