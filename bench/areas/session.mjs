// Sessions and tokens beside what is written by hand (a JSON string in a key, sessions of a user in a set), and stores for
// express-session beside connect-redis. By hand a slow save revives what was destroyed, and parallel changes undo each other.
import { randomBytes } from 'node:crypto';
import { openRaw } from '../lib/context.mjs';
import { bytesOfOne } from '../lib/session/bytes.mjs';
import { connectRedis, DATA, openOurs, wholeSession } from '../lib/session/stores.mjs';

const IDLE = 1_800_000;
const TTL = 600_000;
const SESSIONS = 100;

export async function session(url) {
  const raw = openRaw(url);
  const ours = await openOurs(url);
  const peer = await connectRedis(url);
  const stores = peer === undefined ? [ours.store] : [ours.store, peer.store];
  const close = async () => {
    await ours.close();
    await peer?.close();
    raw.disconnect();
  };
  return {
    scenarios: [
      { name: 'request: read and prolong', arms: reads(raw, ours.sessions, stores) },
      { name: 'request: change one field', arms: changes(raw, ours.sessions, stores) },
      { name: 'log in and out', arms: logins(raw, ours.sessions, stores) },
      { name: 'token: issue and consume', arms: tokens(raw, ours.tokens) },
      { name: 'bytes', measure: () => bytesOfOne(raw, ours, stores) },
    ],
    close,
  };
}

/** Sessions that are there, by an arm's own ids. @param {(n: number) => Promise<string>} make */
function prepared(make) {
  const ids = /** @type {string[]} */ ([]);
  return {
    setup: async () => {
      for (let n = 0; n < SESSIONS; n++) ids.push(await make(n));
    },
    id: (i) => ids[i % SESSIONS],
  };
}

const rawKey = (id) => `bench-raw:session:${id}`;
const newId = () => randomBytes(24).toString('base64url');

function arms(raw, sessions, stores) {
  const byHand = prepared(async () => {
    const id = newId();
    await raw.set(rawKey(id), JSON.stringify(DATA), 'PX', IDLE);
    return id;
  });
  const service = prepared(async () => (await sessions.create(DATA)).id);
  const each = stores.map((store) => ({
    store,
    ...prepared(async () => {
      const id = newId();
      await store.set(id, wholeSession());
      return id;
    }),
  }));
  return { byHand, service, each };
}

function reads(raw, sessions, stores) {
  const { byHand, service, each } = arms(raw, sessions, stores);
  return [
    {
      name: 'raw',
      setup: byHand.setup,
      run: async (i) => {
        done(JSON.parse(await raw.get(rawKey(byHand.id(i)))).userId === DATA.userId);
        done((await raw.pexpire(rawKey(byHand.id(i)), IDLE)) === 1);
      },
    },
    {
      name: 'ours',
      setup: service.setup,
      run: async (i) => done((await sessions.get(service.id(i))).data.userId === DATA.userId),
    },
    ...each.map(({ store, setup, id }) => ({
      name: store.name,
      setup,
      run: async (i) => {
        const found = await store.get(id(i));
        done(found.userId === DATA.userId);
        await store.touch(id(i), found);
      },
    })),
  ];
}

function changes(raw, sessions, stores) {
  const { byHand, service, each } = arms(raw, sessions, stores);
  return [
    {
      name: 'raw',
      setup: byHand.setup,
      run: async (i) => {
        const found = JSON.parse(await raw.get(rawKey(byHand.id(i))));
        done((await raw.set(rawKey(byHand.id(i)), JSON.stringify({ ...found, i }), 'PX', IDLE)) === 'OK');
      },
    },
    {
      name: 'ours',
      setup: service.setup,
      run: async (i) => done((await sessions.update(service.id(i), { i })).data.i === i),
    },
    ...each.map(({ store, setup, id }) => ({
      name: store.name,
      setup,
      run: async (i) => {
        const found = await store.get(id(i));
        await store.set(id(i), Object.assign(found, { i }));
      },
    })),
  ];
}

function logins(raw, sessions, stores) {
  const user = (i) => `user-${i % SESSIONS}`;
  return [
    {
      name: 'raw',
      run: async (i) => {
        const id = newId();
        const index = `bench-raw:sessions-of:${user(i)}`;
        await Promise.all([raw.set(rawKey(id), JSON.stringify(DATA), 'PX', IDLE), raw.sadd(index, id)]);
        done((await Promise.all([raw.del(rawKey(id)), raw.srem(index, id)])).join() === '1,1');
      },
    },
    {
      name: 'ours',
      run: async (i) => {
        const { id } = await sessions.create(DATA, { principal: user(i) });
        done(await sessions.destroy(id));
      },
    },
    {
      name: 'ours, no principal',
      run: async () => {
        const { id } = await sessions.create(DATA);
        done(await sessions.destroy(id));
      },
    },
    ...stores.map((store) => ({
      name: store.name,
      run: async () => {
        const id = newId();
        await store.set(id, wholeSession());
        await store.destroy(id);
      },
    })),
  ];
}

function tokens(raw, service) {
  const payload = { userId: 4711 };
  return [
    {
      name: 'raw',
      run: async () => {
        const key = `bench-raw:token:${newId()}`;
        done((await raw.set(key, JSON.stringify(payload), 'PX', TTL)) === 'OK');
        done(JSON.parse(await raw.getdel(key)).userId === payload.userId);
      },
    },
    {
      name: 'ours',
      run: async () => {
        const token = await service.issue('bench', payload);
        done((await service.consume('bench', token)).userId === payload.userId);
      },
    },
  ];
}

function done(ok) {
  if (!ok) throw new Error('A session or token was not what it should be');
}
