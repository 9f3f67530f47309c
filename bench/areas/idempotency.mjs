// A run under a new key, and the replay of one that was used, beside what is written by hand: SET NX for the marker, SET for
// the result, GET to replay it. By hand nobody checks owner or payload, and nothing is renewed.
import { IdempotencyService } from 'nestjs-redis-patterns';
import { openApplication, openRaw } from '../lib/context.mjs';

const RESULT = { id: 42, status: 'paid', lines: [{ sku: 'a-1', amount: 2 }] };
const LEASE = 30_000;
const TTL = 60_000;

export async function idempotency(url) {
  const raw = openRaw(url);
  const app = await openApplication(url);
  const service = app.get(IdempotencyService);
  let serial = 0;
  const runs = [
    {
      name: 'raw',
      run: async () => {
        const key = `bench:idempotency:order:${serial++}`;
        done((await raw.set(key, 'running', 'PX', LEASE, 'NX')) === 'OK');
        done((await raw.set(key, JSON.stringify(RESULT), 'PX', TTL)) === 'OK');
      },
    },
    {
      name: 'ours',
      run: async () => {
        done((await service.run(['order', serial++], 'payload', () => RESULT, { ttl: TTL })) === RESULT);
      },
    },
  ];
  const replays = [
    {
      name: 'raw',
      setup: () => raw.set('bench:idempotency:replayed:raw', JSON.stringify(RESULT), 'PX', 600_000),
      run: async () => {
        done((await raw.set('bench:idempotency:replayed:raw', 'running', 'PX', LEASE, 'NX')) === null);
        done(JSON.parse(await raw.get('bench:idempotency:replayed:raw')).id === RESULT.id);
      },
    },
    {
      name: 'ours',
      setup: () => service.run(['replayed', 'ours'], 'payload', () => RESULT),
      run: async () => {
        done((await service.run(['replayed', 'ours'], 'payload', never)).id === RESULT.id);
      },
    },
  ];
  const close = async () => {
    await app.close();
    raw.disconnect();
  };
  const scenarios = [
    { name: 'run', arms: runs },
    { name: 'replay', arms: replays },
  ];
  return { scenarios, close };
}

function never() {
  throw new Error('What was done before ran again');
}

function done(ok) {
  if (!ok) throw new Error('A run or replay did not do what it should');
}
