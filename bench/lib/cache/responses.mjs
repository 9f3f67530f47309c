// One application for each arm, all with the same route. Requests are injected: sockets and a client would cost several times what is
// measured, and vary by more than it.
import 'reflect-metadata';
import { setImmediate } from 'node:timers/promises';
import { Controller, Get, Module, Param, Query, UseInterceptors } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { CacheResponse, CacheService, RedisPatternsModule } from 'nestjs-redis-patterns';
import { peer } from '../context.mjs';
import { armed } from './ours.mjs';
import { payload } from './values.mjs';

const TTL = 600_000;
const REQUEST = { method: 'GET', url: '/products/7?page=2', headers: { host: 'localhost' } };
const expected = JSON.stringify(payload);

const patterns = (url, name, cache = {}) =>
  RedisPatternsModule.forRoot({
    namespace: `bench-${name}`,
    connection: url,
    cache: { operationTimeout: '2s', ...cache },
  });
const cached = (scope) => CacheResponse({ ttl: TTL, scope, query: ['page'] });
const host = (context) => context.switchToHttp().getRequest().headers.host;

class EmptyInterceptor {
  intercept(_context, next) {
    return next.handle();
  }
}

/** @typedef {{ imports: any[], decorators: MethodDecorator[], ready?: (app: any) => Promise<void> }} Kind */

/** @type {Record<string, (url: string) => Promise<Kind | undefined>>} */
const KINDS = {
  bare: async () => ({ imports: [], decorators: [] }),
  'empty interceptor': async () => ({ imports: [], decorators: [UseInterceptors(EmptyInterceptor)] }),
  'cache-manager': cacheManager,
  ours: async (url) => ({ imports: [patterns(url, 'public')], decorators: [cached('public')] }),
  'ours by scope': async (url) => ({ imports: [patterns(url, 'scope')], decorators: [cached(host)] }),
  'ours in memory': async (url) => ({
    imports: [patterns(url, 'memory', { l1: { ttl: TTL } })],
    decorators: [cached('public')],
    ready: (app) => armed(app.get(CacheService)),
  }),
};

/** Redis alone, as in ours: one store, without a second prefix or a tier in memory. */
async function cacheManager(url) {
  const modules = await peer('@nestjs/cache-manager', 'keyv', '@keyv/redis');
  if (!modules) return undefined;
  const [{ CacheInterceptor, CacheModule, CacheTTL }, { Keyv }, { default: KeyvRedis }] = modules;
  const store = new Keyv({ store: new KeyvRedis(url), namespace: 'responses', useKeyPrefix: false });
  return {
    imports: [CacheModule.register({ stores: [store] })],
    decorators: [UseInterceptors(CacheInterceptor), CacheTTL(TTL)],
  };
}

/** What the compiler makes of a controller with a decorated method. @param {MethodDecorator[]} decorators */
function controllerWith(decorators) {
  class Products {
    find() {
      return payload;
    }
  }
  const { prototype } = Products;
  const descriptor = /** @type {PropertyDescriptor} */ (Object.getOwnPropertyDescriptor(prototype, 'find'));
  Param('id')(prototype, 'find', 0);
  Query('page')(prototype, 'find', 1);
  for (const decorate of [Get(':id'), ...decorators]) decorate(prototype, 'find', descriptor);
  Object.defineProperty(prototype, 'find', descriptor);
  Controller('products')(Products);
  return Products;
}

/** @param {'express' | 'fastify'} adapter @param {string} url */
export async function openResponses(adapter, url) {
  const opened = [];
  for (const [name, kind] of Object.entries(KINDS)) {
    const arm = await kind(url);
    if (arm) opened.push(await openArm(name, arm, adapter));
  }
  return { arms: opened, close: () => Promise.all(opened.map(({ close }) => close())) };
}

/** @param {string} name @param {Kind} kind @param {string} adapter */
async function openArm(name, { imports, decorators, ready }, adapter) {
  class App {}
  Module({ imports, controllers: [controllerWith(decorators)] })(App);
  const app = await NestFactory.create(App, await newAdapter(adapter), { logger: ['error', 'warn'] });
  await app.init();
  const server = app.getHttpAdapter().getInstance();
  await server.ready?.();
  await ready?.(app);
  const { default: inject } = await import('light-my-request');
  // A turn of the event loop each, as for a request from a socket: without it arms that wait for nothing would never give way.
  const run = async () => {
    await setImmediate();
    return adapter === 'fastify' ? server.inject(REQUEST) : inject(server, REQUEST);
  };
  await run();
  check(name, await run());
  return { name, run, close: () => app.close() };
}

function check(name, { payload: body, headers }) {
  const isHit = headers['x-cache'] === 'HIT';
  const wanted = name !== 'bare' && name !== 'empty interceptor';
  if (isHit !== wanted || body !== expected)
    throw new Error(`${name}: unexpected answer ${headers['x-cache']} ${body}`);
}

async function newAdapter(name) {
  if (name === 'express') return new (await import('@nestjs/platform-express')).ExpressAdapter();
  return new (await import('@nestjs/platform-fastify')).FastifyAdapter();
}
