import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { AbstractHttpAdapter } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { describeOn } from '../../support/topologies.js';
import { openHttpApp, type HttpApp } from './http-app.js';

const ADAPTERS: [string, () => AbstractHttpAdapter][] = [
  ['Express', () => new ExpressAdapter()],
  ['Fastify', () => new FastifyAdapter() as unknown as AbstractHttpAdapter],
];

describeOn('standalone', 'sessions over HTTP', { user: 'session' }, (topology) => {
  describe.each(ADAPTERS)('on %s', (_, adapter) => {
    let shop: HttpApp;
    let broken: HttpApp;
    beforeAll(async () => {
      shop = await openHttpApp(adapter(), topology);
      // Nobody listens there.
      const nowhere = { host: '127.0.0.1', port: 1, startup: 'background', commandTimeout: 200 };
      broken = await openHttpApp(
        adapter(),
        { namespace: 'shop', connection: nowhere },
        { cookie: { name: 'sid', secure: false } },
      );
    });
    afterAll(async () => {
      await Promise.all([shop?.app.close(), broken?.app.close()]);
    });

    it('log in with a cookie that scripts and other sites cannot use, and out', async () => {
      const guest = await shop.call('POST', '/cart', { body: { item: 'book' } });
      expect(guest.setCookie).toMatch(/^__Host-sid=[\w-]{22}\.[\w-]{43}; Path=\/; HttpOnly; Secure; SameSite=Lax$/);
      const login = await shop.call('POST', '/login', { cookie: `a=b; ${guest.cookie}`, body: { name: 'ada' } });
      expect([login.status, login.body]).toEqual([201, { rotated: true }]);
      expect(login.cookie).not.toBe(guest.cookie);
      expect(await shop.call('GET', '/me', { cookie: guest.cookie })).toMatchObject({ status: 401 });
      const me = { principal: 'ada', items: ['book'], same: true };
      expect(await shop.call('GET', '/me', { cookie: `${login.cookie}; x=y` })).toMatchObject({
        status: 200,
        body: me,
      });
      const logout = await shop.call('DELETE', '/login', { cookie: login.cookie });
      expect(logout).toMatchObject({ status: 200, body: { ended: true }, cookie: '__Host-sid=' });
      expect(logout.setCookie).toContain('Max-Age=0');
      expect(await shop.call('GET', '/me', { cookie: login.cookie })).toMatchObject({ status: 401 });
    });

    it('are read once for a request, and not at all without a cookie', async () => {
      const { cookie } = await shop.call('POST', '/login', { body: { name: 'grace' } });
      const reads = jest.spyOn(shop.sessions, 'get');
      await shop.call('GET', '/me', { cookie });
      expect(reads).toHaveBeenCalledTimes(1);
      for (const path of ['/me', '/home']) await shop.call('GET', path, { cookie: '__Host-sidx=1; other' });
      expect(reads).toHaveBeenCalledTimes(1);
      reads.mockRestore();
    });

    it('may be missing where the middleware alone reads them, and need one of the two', async () => {
      const { cookie } = await shop.call('POST', '/login', { body: { name: 'grace' } });
      expect(await shop.call('GET', '/home')).toMatchObject({ status: 200, body: { known: false } });
      expect(await shop.call('GET', '/home', { cookie })).toMatchObject({ status: 200, body: { known: true } });
      expect(await shop.call('GET', '/home', { cookie: '__Host-sid=made-up' })).toMatchObject({
        body: { known: false },
      });
      expect(await shop.call('GET', '/bare', { cookie })).toMatchObject({ status: 500 });
    });

    it('answer 503 and never 401 when Redis does not', async () => {
      const cookie = `sid=${'a'.repeat(22)}.${'b'.repeat(43)}`;
      for (const path of ['/me', '/home'])
        expect(await broken.call('GET', path, { cookie })).toMatchObject({ status: 503 });
      expect(await broken.call('POST', '/login', { body: { name: 'ada' } })).toMatchObject({
        status: 503,
        setCookie: null,
      });
      expect(await broken.call('DELETE', '/login', { cookie })).toMatchObject({ status: 503, setCookie: null });
      // Without a cookie there is nothing to ask Redis for.
      expect(await broken.call('GET', '/me')).toMatchObject({ status: 401 });
    });
  });
});
