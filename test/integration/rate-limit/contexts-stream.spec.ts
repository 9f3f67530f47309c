import { Controller, Get, Injectable } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { expect, it } from '@jest/globals';
import { RedisPatternsModule } from '../../../libs/redis-patterns/src/nest/redis-patterns.module.js';
import { RateLimitService, type RateLimitOptions } from '../../../libs/redis-patterns/src/rate-limit/index.js';
import { RateLimit } from '../../../libs/redis-patterns/src/rate-limit/nest/index.js';
import { StreamProducer } from '../../../libs/redis-patterns/src/stream/index.js';
import { StreamConsumer } from '../../../libs/redis-patterns/src/stream/nest/index.js';
import { eventually } from '../../support/eventually.js';
import { describeOn } from '../../support/topologies.js';

describeOn('standalone', '@RateLimit and stream consumers', { user: ['rateLimit', 'stream'] }, (topology) => {
  it('counts a message once, by its body, and not by policies that are for requests', async () => {
    const seen: unknown[] = [];
    @Injectable()
    class Mailer {
      @StreamConsumer({ stream: 'mails', group: 'g' })
      @RateLimit('mails', { by: ({ to }: { to: string }) => to })
      async send({ to }: { to: string }): Promise<void> {
        seen.push(to);
      }
    }
    @Controller()
    @RateLimit('api')
    class Mixed {
      @Get()
      list(): void {}

      @StreamConsumer({ stream: 'mails', group: 'h' })
      async audit(body: unknown): Promise<void> {
        seen.push(body);
      }
    }
    const { namespace, connection } = topology;
    const limit = { limit: 5, window: '1m' } as const;
    const rateLimit = {
      deadline: '5s',
      global: ['api'],
      policies: { api: limit, mails: limit },
    } satisfies RateLimitOptions;
    const module = await Test.createTestingModule({
      imports: [RedisPatternsModule.forRoot({ namespace, connection, rateLimit })],
      controllers: [Mixed],
      providers: [Mailer],
    }).compile();
    await module.init();
    try {
      await module.get(StreamProducer).publish('mails', { to: 'ann' });
      await eventually(() => expect(seen).toHaveLength(2));
      expect(seen).toEqual(expect.arrayContaining(['ann', { to: 'ann' }]));
      expect((await module.get(RateLimitService).peek('mails', 'ann')).remaining).toBe(4);
      expect(await topology.admin.keys(`${namespace}:ratelimit:*`)).toHaveLength(1);
    } finally {
      await module.close();
    }
  });
});
