import { Injectable } from '@nestjs/common';
import { RedisTelemetry } from 'nestjs-redis-patterns';

/** How long this process waited for its database when the cache had nothing. */
@Injectable()
export class LoadTimes {
  /** Milliseconds; undefined before the first load. */
  last: number | undefined;

  constructor(telemetry: RedisTelemetry) {
    telemetry.onOperation(({ pattern, operation, elapsedMs }) => {
      if (pattern === 'cache' && operation === 'load' && elapsedMs !== undefined) this.last = Math.round(elapsedMs);
    });
  }
}
