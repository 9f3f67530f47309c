// Taking and giving back a free lock, beside SET NX PX and a compare-and-delete script. Keys have the same length.
import { randomBytes } from 'node:crypto';
import { LockService } from 'nestjs-redis-patterns';
import { openApplication, openRaw, peer } from '../lib/context.mjs';

const RELEASE = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";

export async function lock(url) {
  const raw = openRaw(url);
  raw.defineCommand('benchRelease', { numberOfKeys: 1, lua: RELEASE });
  const app = await openApplication(url);
  const service = app.get(LockService);
  let serial = 0;
  const arms = [
    {
      name: 'raw',
      run: async () => {
        const key = `bench:lock:order:${serial++}`;
        const token = randomBytes(16).toString('base64url');
        done((await raw.set(key, token, 'PX', 30_000, 'NX')) === 'OK');
        done((await raw.benchRelease(key, token)) === 1);
      },
    },
    {
      name: 'ours',
      run: async () => {
        const held = await service.acquire(['order', serial++], { lease: 30_000 });
        done(await held.release());
      },
    },
    ...(await semaphoreArm(raw, () => serial++)),
    ...(await redlockArm(raw, () => serial++)),
  ];
  const close = async () => {
    await app.close();
    raw.disconnect();
  };
  return { scenarios: [{ name: 'acquire + release', arms }], close };
}

function done(ok) {
  if (!ok) throw new Error('A free lock was not taken or not given back');
}

async function semaphoreArm(client, next) {
  const modules = await peer('redis-semaphore');
  if (!modules) return [];
  const [semaphore] = modules;
  return [
    {
      name: 'redis-semaphore',
      run: async () => {
        const mutex = new semaphore.Mutex(client, `order:${next()}`, { lockTimeout: 30_000 });
        await mutex.acquire();
        await mutex.release();
      },
    },
  ];
}

/** With one node, as the other arms have it. */
async function redlockArm(client, next) {
  const modules = await peer('redlock');
  if (!modules) return [];
  const redlock = new modules[0].default([client], { retryCount: 0 });
  return [
    {
      name: 'redlock',
      run: async () => {
        const held = await redlock.lock(`redlock:order:${next()}`, 30_000);
        await held.unlock();
      },
    },
  ];
}
