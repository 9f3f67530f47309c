import type { PasswordSource } from './secret.js';

/** What a password function says now. It is asked again after each lost socket, so that a rotation needs no restart. */
export class CurrentPassword {
  value: string | undefined;
  #question: Promise<boolean> | undefined;

  constructor(
    private readonly source: PasswordSource | undefined,
    private readonly failed: (error: Error) => void,
  ) {}

  /** Whether the function owes an answer. */
  get awaited(): boolean {
    return this.#question !== undefined;
  }

  /**
   * Asks the function; who asks meanwhile gets the same answer, so that an older one never replaces a newer one.
   *
   * @returns whether there is an answer (or nothing to ask)
   */
  refresh(): Promise<boolean> {
    const { source } = this;
    if (typeof source !== 'function') return Promise.resolve(true);
    this.#question ??= this.#ask(source).finally(() => (this.#question = undefined));
    return this.#question;
  }

  async #ask(source: () => string | Promise<string>): Promise<boolean> {
    try {
      this.value = await source();
      return true;
    } catch {
      // What a secret store says in its error may hold the secret's name or more: it is not passed on.
      this.failed(new Error("the function given as 'password' failed"));
      return false;
    }
  }
}
