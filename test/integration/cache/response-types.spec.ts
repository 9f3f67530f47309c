import { Controller, Get, Header, Logger, StreamableFile, UseInterceptors } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import { expect, it, jest } from '@jest/globals';
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

@Controller('unstorable/:id')
class UnstorableController {
  @Get('nested')
  @Header('ETag', '"own"')
  @CacheResponse({ ttl: '1m', scope: 'public' })
  nested(): object {
    return { users: [new User('Ada', 'secret')] };
  }

  @Get('file')
  @CacheResponse({ ttl: '1m', scope: 'public' })
  file(): StreamableFile {
    return new StreamableFile(Buffer.from('report'));
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

  it('are not stored without it, which is said with the route, the method and the remedy', async () => {
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => {});
    const app = await openResponseApp(new ExpressAdapter(), topology, { controllers: [UnstorableController] });
    try {
      for (const id of [1, 1, 2]) {
        expect(await app.fetch(`/unstorable/${id}/nested`)).toMatchObject({ status: 200, cache: 'MISS' });
        expect(await app.fetch(`/unstorable/${id}/file`)).toMatchObject({ status: 200, cache: 'MISS', text: 'report' });
      }
      const said = warn.mock.calls.map(([message]) => String(message)).filter((text) => text.includes('not stored'));
      expect(said).toEqual([
        expect.stringMatching(
          /@CacheResponse on UnstorableController\.nested: an answer to GET \/unstorable\/:id\/nested was not stored: cannot encode value\.users\[0\]: .* User; list its class in the option 'types'/,
        ),
        expect.stringMatching(
          /UnstorableController\.file: .* \/unstorable\/:id\/file .* stream; take @CacheResponse away/,
        ),
      ]);
    } finally {
      await app.close();
      warn.mockRestore();
    }
  });
});
