// Ways to tell everybody. Both sides have sockets of their own, so that each can be a process of its own.
import { PubSubService } from 'nestjs-redis-patterns';
import { openApplication, openRaw } from '../context.mjs';
import { connect, serve } from '../transport/nest.mjs';

/**
 * @typedef {object} Way
 * @property {string} listener part of the `CLIENT LIST` line of the socket that listens
 * @property {(url: string, handle: (n: number) => unknown) => Promise<{ gaps?: () => number, close: () => Promise<unknown> }>} listen
 * @property {(url: string, payload: object) => Promise<{ publish: (n: number) => Promise<unknown>, close: () => Promise<unknown> }>} publisher
 */

/** @type {Record<string, Way>} */
export const WAYS = {
  raw: { listener: 'name=raw-listener ', listen: listenRaw, publisher: publishRaw },
  ours: ours('ours', {}),
  'ours reliable': ours('ours-reliable', { channels: { bench: { delivery: 'reliable' } } }),
  'nest transport': transport('nest transport'),
  'ours transport': transport('ours transport'),
};

async function listenRaw(url, handle) {
  const client = openRaw(url, { connectionName: 'raw-listener' });
  // Without a listener ioredis prints every lost connection.
  client.on('error', () => {});
  client.on('message', (_channel, text) => handle(JSON.parse(text).n));
  await client.subscribe('raw:bench');
  return { close: async () => client.disconnect() };
}

async function publishRaw(url, payload) {
  const client = openRaw(url);
  return {
    publish: (n) => client.publish('raw:bench', JSON.stringify({ n, ...payload })),
    close: async () => client.disconnect(),
  };
}

function ours(namespace, pubsub) {
  const open = async (url) => {
    const app = await openApplication(url, { namespace, pubsub }, ['error']);
    return { service: app.get(PubSubService), close: () => app.close() };
  };
  return {
    listener: `name=${namespace}:default:subscriber:`,
    listen: async (url, handle) => {
      const { service, close } = await open(url);
      let gaps = 0;
      await service.subscribe('bench', ({ n }) => handle(n), { onGap: () => gaps++ });
      return { gaps: () => gaps, close };
    },
    publisher: async (url, payload) => {
      const { service, close } = await open(url);
      return { publish: (n) => service.publish('bench', { n, ...payload }), close };
    },
  };
}

/** @param {string} kind */
function transport(kind) {
  return {
    // One channel for events, one for requests.
    listener: ' sub=2 ',
    listen: async (url, handle) => ({ close: await serve(kind, url, ({ n }) => handle(n)) }),
    publisher: async (url, payload) => {
      const { emit, close } = await connect(kind, url);
      return { publish: (n) => emit({ n, ...payload }), close };
    },
  };
}

/**
 * Both sides in this process.
 *
 * @param {string} url
 * @param {readonly string[]} names
 * @param {object} payload
 * @param {(name: string, n: number) => void} heard
 */
export async function openBroadcasters(url, names, payload, heard) {
  const opened = [];
  for (const name of names) {
    const { listener, listen, publisher } = WAYS[name];
    const listening = await listen(url, (n) => heard(name, n));
    const { publish, close } = await publisher(url, payload);
    const gaps = listening.gaps ?? (() => 0);
    const closeBoth = () => Promise.all([close(), listening.close()]);
    opened.push({ name, listener, publish, gaps, close: closeBoth });
  }
  return opened;
}
