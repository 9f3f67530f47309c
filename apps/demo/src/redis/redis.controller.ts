import { Controller, Get } from '@nestjs/common';
import { RedisConnections, type ConnectionStats } from 'nestjs-redis-patterns';

/** What the shop knows of its Redis: from memory, so it answers while Redis does not. */
@Controller('redis')
export class RedisController {
  constructor(private readonly connections: RedisConnections) {}

  @Get()
  stats(): ConnectionStats {
    return this.connections.stats();
  }
}
