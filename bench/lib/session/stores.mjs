// Stores for express-session as promises: ours, and connect-redis on node-redis, which it asks for.
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { RedisPatternsModule, SessionService, TokenService } from 'nestjs-redis-patterns';
import { peer } from '../context.mjs';

/** A session as applications have it. */
export const DATA = {
  userId: 4711,
  name: 'Ada Lovelace',
  roles: ['customer', 'editor'],
  cart: { items: 3, total: 149.9 },
};
export const COOKIE = { originalMaxAge: 1_800_000, path: '/', httpOnly: true, sameSite: 'lax' };

/**
 * @typedef {{ name: string, get: (sid: string) => Promise<any>, set: (sid: string, session: object) => Promise<void>,
 *   touch: (sid: string, session: object) => Promise<void>, destroy: (sid: string) => Promise<void> }} Store
 */

/** The library as an application has it. @param {string} url */
export async function openOurs(url) {
  const { RedisSessionStore, RedisSessionStoreModule } = await import('nestjs-redis-patterns/express-session');
  class App {}
  const patterns = RedisPatternsModule.forRoot({ namespace: 'bench', connection: url });
  Module({ imports: [patterns, RedisSessionStoreModule.forRoot()] })(App);
  const app = await NestFactory.createApplicationContext(App, { logger: ['error', 'warn'] });
  return {
    sessions: app.get(SessionService),
    tokens: app.get(TokenService),
    store: promised('ours store', app.get(RedisSessionStore)),
    close: () => app.close(),
  };
}

/** @param {string} url @returns {Promise<{ store: Store, close: () => unknown } | undefined>} */
export async function connectRedis(url) {
  const modules = await peer('connect-redis', '@redis/client', 'express-session');
  if (!modules) return undefined;
  const [{ RedisStore }, { createClient }] = modules;
  const client = createClient({ url });
  client.on('error', () => {});
  await client.connect();
  return {
    store: promised('connect-redis', new RedisStore({ client, prefix: 'bench-connect:' })),
    close: () => client.destroy(),
  };
}

/** @param {string} name @param {any} store @returns {Store} */
function promised(name, store) {
  const call =
    (method) =>
    (...args) =>
      new Promise((resolve, reject) => {
        store[method](...args, (error, value) => (error ? reject(error) : resolve(value)));
      });
  return { name, get: call('get'), set: call('set'), touch: call('touch'), destroy: call('destroy') };
}

/** What a request hands to its store. */
export function wholeSession(data = DATA) {
  return { cookie: { ...COOKIE, expires: new Date(Date.now() + COOKIE.originalMaxAge) }, ...data };
}
