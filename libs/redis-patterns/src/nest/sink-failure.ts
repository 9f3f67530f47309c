import { Logger } from '@nestjs/common';

/** Says once that a subscriber of ours has failed: what it does is lost, and nothing else. */
export class SinkFailure {
  constructor(private readonly what: string) {}

  readonly report = (error: unknown): void => {
    const text = error instanceof Error ? error.constructor.name : typeof error;
    new Logger('RedisPatterns:Telemetry').warn(
      `A subscriber for ${this.what} has failed (${text}); this is said once.`,
    );
  };
}
