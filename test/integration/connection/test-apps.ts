import { Logger, type INestApplicationContext, type LoggerService } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { RedisPatternsModule, type RedisPatternsError, type RedisPatternsOptions } from 'nestjs-redis-patterns';

/** One line that went to the application's logger. */
export interface LogLine {
  readonly level: string;
  readonly text: string;
}

/** Applications that consist of the library alone. Whoever boots some closes them all: `afterEach(() => apps.close())`. */
export class TestApps {
  /** What the applications logged since the last `close`. */
  readonly lines: LogLine[] = [];
  readonly #booted: INestApplicationContext[] = [];

  /**
   * Boots an application with one connection.
   *
   * @param connection a URL or options; wrong ones on purpose, hence untyped
   * @param more options of patterns
   */
  async boot(
    connection: unknown,
    namespace = 'shop',
    more: Partial<RedisPatternsOptions> = {},
  ): Promise<INestApplicationContext> {
    const options = { namespace, connection, ...more } as RedisPatternsOptions;
    const module = RedisPatternsModule.forRoot(options);
    const application = await NestFactory.createApplicationContext(module, {
      logger: collector(this.lines),
      abortOnError: false,
    });
    this.#booted.push(application);
    return application;
  }

  /** The error of a boot that must not succeed, and the milliseconds that it took. */
  async failure(connection: unknown): Promise<{ error: RedisPatternsError; elapsed: number }> {
    const began = performance.now();
    const outcome = await this.boot(connection).then(
      () => undefined,
      (error: RedisPatternsError) => ({ error, elapsed: performance.now() - began }),
    );
    if (outcome === undefined) throw new Error('the boot succeeded, but it must fail');
    return outcome;
  }

  /** Lines of warnings and errors. */
  troubles(): string[] {
    return this.lines.filter(({ level }) => level !== 'log').map(({ text }) => text);
  }

  async close(): Promise<void> {
    await Promise.all(this.#booted.splice(0).map((application) => application.close()));
    this.lines.length = 0;
    Logger.overrideLogger(false);
  }
}

/** Only what this library says: Nest tells of its own modules as well. */
function collector(lines: LogLine[]): LoggerService {
  const write =
    (level: string) =>
    (...parts: unknown[]): void => {
      const text = parts.map(String).join(' ');
      if (text.includes('RedisPatterns:')) lines.push({ level, text });
    };
  return { log: write('log'), warn: write('warn'), error: write('error'), fatal: write('fatal') };
}
