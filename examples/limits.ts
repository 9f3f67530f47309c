// Rate limits: on a route, on a method, and a route that is left out.
import 'reflect-metadata';
import { strict as assert } from 'node:assert';
import { Controller, Get, Injectable, Module, Post, type ExecutionContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { RateLimit, RateLimitExceededError, RedisPatternsModule, SkipRateLimit } from 'nestjs-redis-patterns';

/** A real application takes the user of its guard: `by: 'user'`. */
const byClient = (context: ExecutionContext): string =>
  `client:${context.switchToHttp().getRequest<{ headers: Record<string, string> }>().headers['x-client'] ?? 'none'}`;

@RateLimit('api')
@Controller('reports')
class ReportsController {
  @Get()
  list(): string[] {
    return ['sales', 'stock'];
  }

  @Get('health')
  @SkipRateLimit('api')
  health(): string {
    return 'ok';
  }

  // Two limits: both have room, or neither counts.
  @Post()
  @RateLimit({ limit: 2, window: '1h' }, { by: byClient })
  create(): string {
    return 'created';
  }
}

@Injectable()
class SmsService {
  @RateLimit({ limit: 3, window: '1h' }, { by: (phone: string) => `phone:${phone}` })
  async send(phone: string): Promise<string> {
    return `sent to ${phone}`;
  }
}

@Module({
  imports: [
    RedisPatternsModule.forRoot({
      namespace: `example-limits-${process.pid}`,
      connection: process.env.REDIS_URL ?? 'redis://127.0.0.1:6379',
      rateLimit: { policies: { api: { limit: 10, window: '1m', by: byClient } } },
    }),
  ],
  controllers: [ReportsController],
  providers: [SmsService],
})
class AppModule {}

async function main(): Promise<void> {
  const app = await NestFactory.create(AppModule, { logger: ['error', 'warn'] });
  await app.listen(0, '127.0.0.1');
  const url = `${await app.getUrl()}/reports`;
  const call = async (client: string, path = '', method = 'GET') =>
    fetch(url + path, { method, headers: { 'x-client': client } });

  const created = [];
  for (let n = 0; n < 3; n++) created.push((await call('ada', '', 'POST')).status);
  assert.deepEqual(created, [201, 201, 429]);
  console.log('the third report of an hour is refused:', created.join(' '));

  const listed = [];
  for (let n = 0; n < 9; n++) listed.push((await call('ada')).status);
  assert.deepEqual(listed, [...Array.from({ length: 8 }, () => 200), 429]);
  const refused = await call('ada');
  assert.ok(Number(refused.headers.get('retry-after')) > 0);
  console.log(
    'the refused report cost nothing: 8 more calls of 10; then Retry-After',
    refused.headers.get('retry-after'),
  );

  assert.equal((await call('grace')).status, 200);
  assert.equal((await call('ada', '/health')).status, 200);
  console.log('other clients and the health check are not concerned');

  const sms = app.get(SmsService);
  for (let n = 0; n < 3; n++) await sms.send('+49 30 1234');
  await assert.rejects(sms.send('+49 30 1234'), RateLimitExceededError);
  console.log('three messages to a number in an hour, in all processes');
  await app.close();
}

void main();
