import { Injectable } from '@nestjs/common';
import { InjectRedis, type RedisClient } from 'nestjs-redis-patterns';

const STRIKE = 'shop:demo:carrier-on-strike';
const LONGEST_STRIKE_IN_SECONDS = 60;

/** Takes parcels away, unless it is on strike. */
@Injectable()
export class Carrier {
  constructor(@InjectRedis() private readonly redis: RedisClient) {}

  async strike(): Promise<void> {
    await this.redis.set(STRIKE, '1', 'EX', LONGEST_STRIKE_IN_SECONDS);
  }

  async endStrike(): Promise<void> {
    await this.redis.del(STRIKE);
  }

  async collect(): Promise<void> {
    if ((await this.redis.exists(STRIKE)) === 1) throw new Error('The carrier is on strike');
  }
}
