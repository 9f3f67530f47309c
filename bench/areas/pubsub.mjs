// From the publish to the handler, and what is heard of the messages when the listening socket, or the listening process, is
// killed meanwhile.
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { openRaw } from '../lib/context.mjs';
import { killListeners } from '../lib/pubsub/killed.mjs';
import { openRoundTrips } from '../lib/pubsub/latency.mjs';

const payload = JSON.parse(readFileSync(new URL('../payloads/payloads.json', import.meta.url), 'utf8'))['100B'];
const NAMES = ['raw', 'ours', 'ours reliable', 'nest transport'];
/** Longest wait for a message; milliseconds. */
const PATIENCE = 10_000;

export async function pubsub(url) {
  const admin = openRaw(url);
  const trips = await openRoundTrips(url, NAMES, payload);
  const kill = async (broadcaster, kills, published) => {
    const before = [trips.heard(broadcaster.name), broadcaster.gaps()];
    for (let n = 1; n <= published; n++) {
      await broadcaster.publish(trips.next());
      if (n % Math.floor(published / (kills + 1)) === 0 && n < published)
        await killListener(admin, broadcaster.listener);
      await pause(1);
    }
    const heardNow = () => trips.heard(broadcaster.name) - before[0];
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
    for (const broadcaster of trips.broadcasters) rows.push(await kill(broadcaster, 3, quick ? 400 : 2000));
    return rows;
  };
  const close = async () => {
    await trips.close();
    admin.disconnect();
  };
  return {
    scenarios: [
      { name: 'publish to handler 100 B', arms: trips.arms },
      { name: 'listener killed 3 times', measure: killed },
      {
        name: 'process killed and restarted',
        measure: ({ quick }) =>
          killListeners(url, NAMES, payload, quick ? { kills: 1, between: 100 } : { kills: 3, between: 500 }),
      },
    ],
    close,
  };
}

async function killListener(admin, line) {
  const list = await admin.client('LIST');
  const found = list.split('\n').filter((each) => each.includes(line));
  await Promise.all(found.map((each) => admin.client('KILL', 'ID', /^id=(\d+)/.exec(each)[1]).catch(() => {})));
}
