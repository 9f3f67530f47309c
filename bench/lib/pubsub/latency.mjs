// From the call that publishes to the handler, by way of whatever lies between.
import { openBroadcasters } from './arms.mjs';

/**
 * @param {string} url
 * @param {readonly string[]} names
 * @param {object} payload
 */
export async function openRoundTrips(url, names, payload) {
  /** Who waits for a message, by arm and number. */
  const waiting = new Map();
  const counts = new Map();
  const heard = (name, n) => {
    counts.set(name, (counts.get(name) ?? 0) + 1);
    const key = `${name} ${n}`;
    waiting.get(key)?.();
    waiting.delete(key);
  };
  const broadcasters = await openBroadcasters(url, names, payload, heard);
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
  return {
    arms: broadcasters.map(roundTrip),
    broadcasters,
    next: () => ++serial,
    /** How many messages an arm has heard so far. @param {string} name */
    heard: (name) => counts.get(name) ?? 0,
    close: () => Promise.all(broadcasters.map((each) => each.close())),
  };
}
