// What is left of the messages when the process that handles them is killed and started again while they are published.
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { startProgram, stopProgram } from '../../../scripts/bootstrap/processes.mjs';
import { openRaw } from '../context.mjs';
import { WAYS } from './arms.mjs';

const PROGRAM = fileURLToPath(new URL('./listener.mjs', import.meta.url));
/** Milliseconds without anything new after which nothing is expected to come: for messages that wait for a lease, and for others. */
const QUIET = { kept: 8000, others: 1000 };

/**
 * @param {string} url
 * @param {readonly string[]} names
 * @param {object} payload
 * @param {{ kills: number, between: number }} plan messages before the first kill, and after each new start
 */
export async function killListeners(url, names, payload, plan) {
  const redis = openRaw(url);
  const rows = [];
  for (const name of names) rows.push(await killOne(redis, url, name, payload, plan));
  redis.disconnect();
  return rows;
}

async function killOne(redis, url, name, payload, { kills, between }) {
  // Handled is what has had its effect in Redis: it is there also when the process is not any more.
  const effects = `effects:${name}`;
  const start = async () => {
    const child = startProgram(PROGRAM, { args: [JSON.stringify({ name, url, effects })] });
    const ready = once(child, 'message');
    const failed = once(child, 'exit').then(([code]) => `ended with ${code}`);
    return { child, ready: Promise.race([ready.then(() => undefined), failed]) };
  };
  const { publish, close } = await WAYS[name].publisher(url, payload);
  let published = 0;
  const publishOne = async () => {
    await publish(++published);
    await pause(1);
  };
  let listener = await start();
  await listener.ready;
  for (let kill = 0; kill <= kills; kill++) {
    for (let n = 0; n < between; n++) await publishOne();
    if (kill === kills) break;
    listener.child.kill('SIGKILL');
    listener = await start();
    let problem = 'starting';
    void listener.ready.then((text) => (problem = text));
    while (problem === 'starting') await publishOne();
    if (problem !== undefined) throw new Error(`${name}: the listener ${problem}`);
  }
  const times = await settled(redis, effects, published, name === 'ours transport' ? QUIET.kept : QUIET.others);
  await stopProgram(listener.child, 5000);
  await close();
  await redis.del(effects);
  const twice = times.filter((count) => count > 1).length;
  return { arm: name, kills, published, handled: times.length, lost: published - times.length, twice };
}

/** How often each message was handled, when all were or nothing more comes. */
async function settled(redis, effects, published, quiet) {
  let last = { count: -1, at: performance.now() };
  for (;;) {
    const count = await redis.hlen(effects);
    if (count !== last.count) last = { count, at: performance.now() };
    if (count === published || performance.now() - last.at > quiet) break;
    await pause(20);
  }
  return (await redis.hvals(effects)).map(Number);
}
