import { ForbiddenException, Controller, Get, HttpCode, Post } from '@nestjs/common';
import { Cluster } from 'ioredis';
import { DoctorService, RedisConnections, type ConnectionStats, type DoctorReport } from 'nestjs-redis-patterns';
import { freezable } from './connection.js';

/** Milliseconds that Redis answers nobody. */
const FROZEN = 1_500;

@Controller('redis')
export class RedisController {
  constructor(
    private readonly connections: RedisConnections,
    private readonly doctor: DoctorService,
  ) {}

  /** What the shop knows of its Redis: from memory, so it answers while Redis does not. */
  @Get()
  stats(): ConnectionStats {
    return this.connections.stats();
  }

  /** What is wrong with it: the demo's own Redis has no limit of memory, no password and nothing on disk. */
  @Get('doctor')
  examine(): Promise<DoctorReport> {
    return this.doctor.examine({ maxKeys: 1_000, maxTime: '5s' });
  }

  /** Freezes Redis for a moment; only one that was started for the demo. */
  @Post('freeze')
  @HttpCode(200)
  async freeze(): Promise<{ ms: number }> {
    if (!freezable()) throw new ForbiddenException('This Redis is not a throw-away one');
    const client = this.connections.get();
    const servers = client instanceof Cluster ? client.nodes('master') : [client];
    await Promise.all(servers.map((server) => server.call('CLIENT', 'PAUSE', FROZEN, 'ALL')));
    return { ms: FROZEN };
  }
}
