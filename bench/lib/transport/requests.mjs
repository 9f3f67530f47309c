// Requests whose reply is awaited: what came back is compared with what was sent.
import { openRaw } from '../context.mjs';
import { connect } from './nest.mjs';

/** The services of the transports run already. @param {string} url @param {object} payload */
export async function openRequesters(url, payload) {
  const requesters = [
    { name: 'raw', ...(await raw(url)) },
    { name: 'nest transport', ...(await connect('nest transport', url)) },
    { name: 'ours transport', ...(await connect('ours transport', url)) },
  ];
  let serial = 0;
  const arms = requesters.map(({ name, send }) => ({
    name,
    run: async () => {
      const n = ++serial;
      const reply = await send({ n, ...payload });
      if (reply.n !== n) throw new Error(`${name}: request ${n} had the reply ${reply.n}`);
    },
  }));
  return { arms, close: () => Promise.all(requesters.map(({ close }) => close())) };
}

/** What a hand-written pair of channels does. @param {string} url */
async function raw(url) {
  const [requests, replies, caller, service] = [openRaw(url), openRaw(url), openRaw(url), openRaw(url)];
  requests.on('message', (_channel, text) => {
    const message = JSON.parse(text);
    void service.publish('raw:reply', JSON.stringify({ id: message.id, response: message.data }));
  });
  const waiting = new Map();
  replies.on('message', (_channel, text) => {
    const { id, response } = JSON.parse(text);
    waiting.get(id)?.(response);
    waiting.delete(id);
  });
  await Promise.all([requests.subscribe('raw:request'), replies.subscribe('raw:reply')]);
  let ids = 0;
  return {
    send: async (data) => {
      const id = ++ids;
      const reply = new Promise((resolve) => waiting.set(id, resolve));
      await caller.publish('raw:request', JSON.stringify({ id, data }));
      return reply;
    },
    close: async () => [requests, replies, caller, service].forEach((client) => client.disconnect()),
  };
}
