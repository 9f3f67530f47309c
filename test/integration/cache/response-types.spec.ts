import { Controller, Get, UseInterceptors } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import { expect, it } from '@jest/globals';
import { CacheResponse } from '../../../libs/redis-patterns/src/cache/nest/index.js';
import { describeOn } from '../../support/topologies.js';
import { openResponseApp, User, UserSerializer } from './response-app.js';

@UseInterceptors(UserSerializer)
@Controller('typed')
class TypedController {
  runs = 0;

  @Get('own')
  @CacheResponse({ ttl: '1m', scope: 'public', types: [User] })
  own(): User[] {
    return [new User('Ada', `secret ${++this.runs}`)];
  }
}

describeOn('standalone', 'cached responses that hold instances', (topology) => {
  it('come back with their class, so that a serializer hides on a hit what it hides on a miss', async () => {
    const app = await openResponseApp(new ExpressAdapter(), topology, {
      controllers: [TypedController],
      cache: { operationTimeout: '5s' },
    });
    try {
      const first = await app.fetch('/typed/own');
      expect(first).toMatchObject({ cache: 'MISS', text: '[{"name":"Ada"}]' });
      const second = await app.fetch('/typed/own');
      expect(second).toMatchObject({ cache: 'HIT', text: '[{"name":"Ada"}]' });
      // Express makes it of the body that is sent.
      const etag = first.headers.get('etag')!;
      expect([etag.startsWith('W/'), second.headers.get('etag')]).toEqual([true, etag]);
      expect(app.app.get(TypedController).runs).toBe(1);
    } finally {
      await app.close();
    }
  });
});
