// From the publish to the handler, and what is heard of the messages when the listening socket is killed meanwhile.
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { openRaw } from '../lib/context.mjs';
import { openBroadcasters } from '../lib/pubsub/arms.mjs';

const payload = JSON.parse(readFileSync(new URL('../payloads/payloads.json', import.meta.url), 'utf8'))['100B'];
/** Longest wait for a message; milliseconds. */
const PATIENCE = 10_000;

export async function pubsub(url) {
  const admin = openRaw(url);
  /** Who waits for a message, by arm and number. */
  const waiting = new Map();
  const counts = new Map();
  const heard = (name, n) => {
    counts.set(name, (counts.get(name) ?? 0) + 1);
    const key = `${name} ${n}`;
    waiting.get(key)?.();
    waiting.delete(key);
  };
  const broadcasters = await openBroadcasters(url, payload, heard);
  let serial = 0;
  const roundTrip = (broadcaster) => ({
    name: broadcaster.name,
    run: async () => {
      const n = ++serial;
      const arrived = new Promise((resolve) => waiting.set(`${broadcaster.name} ${n}`, resolve));
      await broadcaster.publish(n);
      await arrived;
    },
    teardown: async () => {
      const missing = [...waiting.keys()].filter((key) => key.startsWith(`${broadcaster.name} `));
      if (missing.length > 0) throw new Error(`${broadcaster.name}: ${missing.length} messages were not heard`);
    },
  });
  const kill = async (broadcaster, kills, published) => {
    const before = [counts.get(broadcaster.name) ?? 0, broadcaster.gaps()];
    for (let n = 1; n <= published; n++) {
      await broadcaster.publish(++serial);
      if (n % Math.floor(published / (kills + 1)) === 0 && n < published)
        await killListener(admin, broadcaster.listener);
      await pause(1);
    }
    const heardNow = () => (counts.get(broadcaster.name) ?? 0) - before[0];
    // What comes later at all comes soon; the reliable arm must have all.
    const end = performance.now() + (broadcaster.name === 'ours reliable' ? PATIENCE : 1000);
    while (heardNow() < published && performance.now() < end) await pause(20);
    return {
      arm: broadcaster.name,
      published,
      heard: heardNow(),
      lost: published - heardNow(),
      gapsTold: broadcaster.gaps() - before[1],
    };
  };
  const killed = async ({ quick }) => {
    const rows = [];
    for (const broadcaster of broadcasters) rows.push(await kill(broadcaster, 3, quick ? 400 : 2000));
    return rows;
  };
  const close = async () => {
    await Promise.all(broadcasters.map((each) => each.close()));
    admin.disconnect();
  };
  return {
    scenarios: [
      { name: 'publish to handler 100 B', arms: broadcasters.map(roundTrip) },
      { name: 'listener killed 3 times', measure: killed },
    ],
    close,
  };
}

async function killListener(admin, line) {
  const list = await admin.client('LIST');
  const found = list.split('\n').filter((each) => each.includes(line));
  await Promise.all(found.map((each) => admin.client('KILL', 'ID', /^id=(\d+)/.exec(each)[1]).catch(() => {})));
}
