import { ForbiddenException, Controller, Get, HttpCode, Post } from '@nestjs/common';
import { Cluster } from 'ioredis';
import { RedisConnections, type ConnectionStats } from 'nestjs-redis-patterns';

/** Milliseconds that Redis answers nobody. */
const FROZEN = 1_500;

@Controller('redis')
export class RedisController {
  constructor(private readonly connections: RedisConnections) {}

  /** What the shop knows of its Redis: from memory, so it answers while Redis does not. */
  @Get()
  stats(): ConnectionStats {
    return this.connections.stats();
  }

  /** Freezes Redis for a moment; only one that was started for the demo. */
  @Post('freeze')
  @HttpCode(200)
  async freeze(): Promise<{ ms: number }> {
    if (process.env.DEMO_FREEZABLE !== '1') throw new ForbiddenException('This Redis is not a throw-away one');
    const client = this.connections.get();
    const servers = client instanceof Cluster ? client.nodes('master') : [client];
    await Promise.all(servers.map((server) => server.call('CLIENT', 'PAUSE', FROZEN, 'ALL')));
    return { ms: FROZEN };
  }
}
