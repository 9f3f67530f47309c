// Locks that are free, beside SET NX PX and a compare-and-delete script with keys of the same length; and locks that are not.
import { randomBytes } from 'node:crypto';
import { LockService } from 'nestjs-redis-patterns';
import { openApplication, openRaw } from '../lib/context.mjs';
import { crowds, fairness, handOff } from '../lib/lock/contention.mjs';
import { peerLockers } from '../lib/lock/peers.mjs';

const RELEASE = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";
const LEASE = 30_000;

export async function lock(url) {
  const clients = [openRaw(url), openRaw(url)];
  const [raw, other] = clients;
  raw.defineCommand('benchRelease', { numberOfKeys: 1, lua: RELEASE });
  const apps = [await openApplication(url), await openApplication(url)];
  const services = apps.map((app) => app.get(LockService));
  // The peers wait by default; ours does not, and does so in the scenarios in which one has to.
  const ours = services.map((service) => ourLocker(service));
  const [peers, otherPeers] = [await peerLockers(raw), await peerLockers(other)];
  const pairs = [ours, ...peers.map((peer, n) => [peer, otherPeers[n]])];
  const lockers = [ours[0], ...peers];
  const close = async () => {
    await Promise.all(apps.map((app) => app.close()));
    for (const client of clients) client.disconnect();
  };
  return {
    scenarios: [
      {
        name: 'acquire + release',
        arms: freeArms(raw, [ourLocker(services[0], 'ours', 0), ourLocker(services[0], 'ours, wait'), ...peers]),
      },
      {
        name: 'hand-off',
        measure: async ({ quick }) => inTurn(pairs, (pair) => handOff(pair, () => raw.ping(), quick ? 10 : 60)),
      },
      { name: 'crowd', measure: ({ quick }) => inTurn(lockers, (locker) => crowds(locker, quick ? 1 : 5)) },
      { name: 'fairness', measure: ({ quick }) => inTurn(lockers, (locker) => fairness(locker, quick ? 300 : 2000)) },
    ],
    close,
  };
}

/** @param {LockService} service @param {string} name @param {number} wait @returns {import('../lib/lock/peers.mjs').Locker} */
function ourLocker(service, name = 'ours', wait = LEASE) {
  return {
    name,
    acquire: async (key) => {
      const held = await service.acquire(key, { lease: LEASE, wait });
      return async () => done(await held.release());
    },
  };
}

function freeArms(raw, lockers) {
  let serial = 0;
  return [
    {
      name: 'raw',
      run: async () => {
        const key = `bench:lock:order:${serial++}`;
        const token = randomBytes(16).toString('base64url');
        done((await raw.set(key, token, 'PX', LEASE, 'NX')) === 'OK');
        done((await raw.benchRelease(key, token)) === 1);
      },
    },
    ...lockers.map(({ name, acquire }) => ({
      name,
      run: async () => {
        const release = await acquire(`order:${serial++}`);
        await release();
      },
    })),
  ];
}

async function inTurn(items, measure) {
  const rows = [];
  for (const item of items) rows.push(await measure(item));
  return rows;
}

function done(ok) {
  if (!ok) throw new Error('A free lock was not taken or not given back');
}
