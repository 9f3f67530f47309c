// The classic recipe by hand, without what keeps it correct: XADD, XREADGROUP with as many entries as there is room for, XACK for
// all that have ended since the last one.
import { openRaw } from '../context.mjs';

const FIELDS = ['type', '', 'data', '', 'mid', '00000000-0000-4000-8000-000000000000', 'key', '', 'headers', ''];

/** Fields of an entry as our producers write them. @param {unknown} payload */
export function fieldsOf(payload, key = '') {
  const fields = [...FIELDS];
  fields[3] = JSON.stringify(payload);
  fields[7] = key;
  return fields;
}

/** @param {string} url @returns {import('./arms.mjs').System} */
export function rawSystem(url) {
  const client = openRaw(url);
  const keyOf = (name) => `raw:stream:${name}`;
  return {
    name: 'raw',
    publish: (name, payload) => client.xadd(keyOf(name), '*', ...fieldsOf(payload)),
    fill: (name, payloads) => fill(client, keyOf(name), payloads),
    open: async (name) => {
      const key = keyOf(name);
      await createGroup(client, key);
      const reader = openRaw(url);
      await reader.ping();
      return {
        consume: async (callers, handle) => readLoop(reader, client, key, callers, handle),
        close: async () => reader.disconnect(),
      };
    },
    verify: (name, count) => verifyStream(client, keyOf(name), count),
    close: async () => client.disconnect(),
  };
}

/**
 * @param {import('ioredis').Redis} client @param {string} key @param {readonly unknown[]} payloads
 * @param {number} keys how many different ones the messages have
 */
export async function fill(client, key, payloads, keys = 0) {
  const pipeline = client.pipeline();
  payloads.forEach((payload, n) => pipeline.xadd(key, '*', ...fieldsOf(payload, keys === 0 ? '' : `k${n % keys}`)));
  pipeline.xgroup('CREATE', key, 'g', '0');
  await pipeline.exec();
}

/** Every message has arrived and is acknowledged. @param {import('ioredis').Redis} client @param {string} key @param {number} count */
export async function verifyStream(client, key, count) {
  const info = await client.xinfo('STREAM', key);
  const added = info[info.indexOf('entries-added') + 1];
  if (added !== count) throw new Error(`${key}: ${count} messages were published, ${added} arrived`);
  const [group] = await client.xinfo('GROUPS', key);
  if (group !== undefined) {
    const [pending, read] = ['pending', 'entries-read'].map((name) => group[group.indexOf(name) + 1]);
    if (pending !== 0 || read !== count)
      throw new Error(`${key}: of ${count} messages ${read} were read, ${pending} pend`);
  }
  await client.del(key);
}

async function createGroup(client, key) {
  try {
    await client.xgroup('CREATE', key, 'g', '0', 'MKSTREAM');
  } catch (error) {
    if (!String(error).includes('BUSYGROUP')) throw error;
  }
}

/**
 * Holds as many entries as ours does: one for each caller, and as many that wait.
 *
 * @returns what ends it, once all is acknowledged
 */
function readLoop(reader, client, key, callers, handle) {
  const waiting = [];
  const acks = [];
  const done = [];
  let running = 0;
  let stopped = false;
  let wake = () => {};
  const flush = () => void acks.push(client.xack(key, 'g', ...done.splice(0)));
  const ended = (id) => {
    running--;
    if (done.push(id) === 1) setImmediate(flush);
    start();
    if (waiting.length + running <= callers) wake();
  };
  const start = () => {
    while (running < callers && waiting.length > 0) {
      const [id, fields] = waiting.shift();
      running++;
      const result = handle(JSON.parse(fields[3]));
      if (result === undefined) ended(id);
      else result.then(() => ended(id));
    }
  };
  const loop = async () => {
    while (!stopped) {
      const room = 2 * callers - waiting.length - running;
      if (room < callers) {
        await new Promise((resolve) => (wake = () => resolve(undefined)));
        continue;
      }
      const reply = await reader
        .xreadgroup('GROUP', 'g', 'c', 'COUNT', room, 'BLOCK', 2000, 'STREAMS', key, '>')
        .catch((error) => (stopped ? null : Promise.reject(error)));
      for (const entry of reply?.[0]?.[1] ?? []) waiting.push(entry);
      start();
    }
  };
  const looping = loop();
  return async () => {
    stopped = true;
    wake();
    reader.disconnect();
    await looping;
    while (done.length > 0) await new Promise((resolve) => setImmediate(resolve));
    await Promise.all(acks);
  };
}
