import { Logger, type LoggerService } from '@nestjs/common';

export type Level = 'log' | 'warn' | 'error' | 'debug';

/** What has been said, and what was not said again. */
interface Said {
  repeats: number;
  readonly tell: (repeats: number) => void;
  readonly timer: NodeJS.Timeout;
}

/** Lines that are told apart; more are written as they come. */
const MOST = 1000;
/** Ids, times and counts: lines that differ in them alone say the same thing. */
const NUMBERS = /\d[\d.:-]*/g;

/** Writes a line the first time at once; the same line again is counted, and told once at the end of the time. */
export class FoldedLog {
  readonly #said = new Map<string, Said>();
  readonly #loggers = new Map<string, LoggerService>();

  constructor(
    /** Where lines go; Nest's own logger without. */
    private readonly sink: LoggerService | undefined,
    /** Milliseconds. */
    private readonly window: number,
  ) {}

  write(level: Level, pattern: string, message: string, stack?: string): void {
    const text = `${level} ${pattern} ${message.replace(NUMBERS, '#')}`;
    const said = this.#said.get(text);
    if (said !== undefined) {
      said.repeats++;
      return;
    }
    this.#write(level, pattern, message, stack);
    if (this.#said.size < MOST && this.window > 0) {
      this.#count(text, (repeats) => this.#write(level, pattern, `${message} (repeated: ${repeats})`, undefined));
    }
  }

  /** Writes a line for a change of a state, which is never a repeat. */
  state(level: Level, pattern: string, message: string): void {
    this.#write(level, pattern, message, undefined);
  }

  /** What has been counted until now is told. */
  close(): void {
    for (const { repeats, timer, tell } of this.#said.values()) {
      clearTimeout(timer);
      if (repeats > 0) tell(repeats);
    }
    this.#said.clear();
  }

  /** Counts from now on, and tells the count as long as there is one. */
  #count(text: string, tell: (repeats: number) => void): void {
    const over = (): void => {
      const { repeats } = this.#said.get(text)!;
      this.#said.delete(text);
      if (repeats === 0) return;
      tell(repeats);
      this.#count(text, tell);
    };
    this.#said.set(text, { repeats: 0, tell, timer: setTimeout(over, this.window).unref() });
  }

  #write(level: Level, pattern: string, message: string, stack: string | undefined): void {
    const context = `RedisPatterns:${pattern}`;
    try {
      if (this.sink !== undefined) {
        const rest = stack === undefined ? [context] : [stack, context];
        this.sink[level]?.(message, ...rest);
        return;
      }
      const logger = this.#loggers.get(context) ?? new Logger(context);
      this.#loggers.set(context, logger);
      if (stack === undefined) logger[level]?.(message);
      else logger.error(message, stack);
    } catch {
      // A logger that throws must end neither the operation nor the process.
    }
  }
}
