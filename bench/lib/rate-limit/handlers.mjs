// What a limit costs a request, on Express. Requests are injected: sockets and a client would cost several times what is measured.
import 'reflect-metadata';
import { Controller, Get, Module, UseGuards } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import inject from 'light-my-request';
import { RateLimit, RedisPatternsModule } from 'nestjs-redis-patterns';
import { RedisThrottlerModule } from 'nestjs-redis-patterns/throttler';
import { peer } from '../context.mjs';
import { gateCost } from '../gate-cost.mjs';
import { policiesOf } from './ours.mjs';

const CALLERS = 16;
const LIMIT = 10_000_000;
const WINDOW_MS = 60_000;
const REQUEST = { method: 'GET', url: '/limited', headers: { host: 'localhost' } };

class EmptyGuard {
  canActivate() {
    return true;
  }
}

/** @typedef {{ name: string, imports: any[], decorators: MethodDecorator[], limited: boolean }} Kind */

/** @param {string} url @param {import('ioredis').Redis} client @param {number} repeats @param {any} countCommands */
export async function handlerCost(url, client, repeats, countCommands) {
  const patterns = (name) =>
    RedisPatternsModule.forRoot({
      namespace: `bench-${name}`,
      connection: url,
      rateLimit: { deadline: '5s', policies: policiesOf(LIMIT, WINDOW_MS) },
    });
  const kinds = [
    { name: 'bare', imports: [], decorators: [], limited: false },
    { name: 'empty guard', imports: [], decorators: [UseGuards(EmptyGuard)], limited: false },
    { name: 'ours', imports: [patterns('guard')], decorators: [RateLimit('sliding')], limited: true },
    {
      name: 'ours 3 policies',
      imports: [patterns('guards')],
      decorators: [RateLimit(['fixed', 'sliding', 'bucket'])],
      limited: true,
    },
    ...(await throttlers(patterns, client)),
  ];
  const [bare, ...others] = await Promise.all(kinds.map(openRoute));
  const arms = [{ ...bare, name: 'bare again' }, ...others];
  const rows = [];
  for (const row of await gateCost(bare, arms, CALLERS, repeats)) {
    const arm = arms.find(({ name }) => name === row.arm);
    rows.push({ ...row, commandsPerOp: await countCommands(arm, CALLERS) });
  }
  await Promise.all([bare, ...others].map(({ close }) => close()));
  return rows;
}

/** The guard of @nestjs/throttler on our storage and on the peer's: one limit each. */
async function throttlers(patterns, client) {
  const modules = await peer('@nestjs/throttler', '@nest-lab/throttler-storage-redis');
  if (!modules) return [];
  const [{ ThrottlerGuard, ThrottlerModule }, { ThrottlerStorageRedisService }] = modules;
  // The log of our storage grows with the hits, so its window is a short one.
  const throttled = [{ ttl: 1000, limit: LIMIT }];
  const decorators = [UseGuards(ThrottlerGuard)];
  const storage = new ThrottlerStorageRedisService(client);
  return [
    {
      name: 'throttler, ours',
      imports: [patterns('throttler'), RedisThrottlerModule.forRoot(throttled)],
      decorators,
      limited: true,
    },
    {
      name: 'throttler, nest-lab',
      imports: [ThrottlerModule.forRoot({ throttlers: throttled, storage })],
      decorators,
      limited: true,
    },
  ];
}

/** @param {Kind} kind */
async function openRoute({ name, imports, decorators, limited }) {
  class App {}
  Module({ imports, controllers: [controllerWith(decorators)] })(App);
  const app = await NestFactory.create(App, new ExpressAdapter(), { logger: ['error', 'warn'] });
  await app.init();
  const server = app.getHttpAdapter().getInstance();
  const run = () => inject(server, REQUEST);
  const { statusCode, headers } = await run();
  const told = Object.keys(headers).some((header) => header.includes('ratelimit'));
  if (statusCode !== 200 || told !== limited)
    throw new Error(`${name}: unexpected answer ${statusCode}, limit ${told}`);
  return { name, run, close: () => app.close() };
}

/** What the compiler makes of a controller with a decorated method. @param {MethodDecorator[]} decorators */
function controllerWith(decorators) {
  class Limited {
    find() {
      return { ok: true };
    }
  }
  const { prototype } = Limited;
  const descriptor = /** @type {PropertyDescriptor} */ (Object.getOwnPropertyDescriptor(prototype, 'find'));
  for (const decorate of [Get(), ...decorators]) decorate(prototype, 'find', descriptor);
  Object.defineProperty(prototype, 'find', descriptor);
  Controller('limited')(Limited);
  return Limited;
}
