// A call through the gate, beside raw ioredis and what others put around it: when all is well, and when Redis is not.
import { CLIENTS, openClients } from '../lib/clients.mjs';
import { gateCost } from '../lib/gate-cost.mjs';
import { outage } from '../lib/outage.mjs';

const KEY = 'bench:connections';
const VALUE = 'x'.repeat(100);
/** The bound is beyond the 5 s after which node-redis gives up a command that it could not send. */
const OUTAGE = { callers: 64, callMs: 3000, boundMs: 5500, healMs: 12_000 };
const QUICK_OUTAGE = { ...OUTAGE, callMs: 1500, boundMs: 2000 };

export async function connections(url) {
  const { clients, close } = await openClients(url, CLIENTS);
  const names = clients.map(({ name }) => name);
  const get = clients.map(({ name, get }) => ({
    name,
    setup: () => clients[0].set(KEY, VALUE),
    run: async () => found(await get(KEY)),
  }));
  const set = clients.map(({ name, set }) => ({ name, run: async () => stored(await set(KEY, VALUE)) }));
  const scenarios = [
    { name: 'GET 100 B', arms: get },
    { name: 'SET 100 B', arms: set },
    { name: 'gate cost', measure: (plan) => cost(clients, plan) },
    { name: 'gate alone', measure: (plan) => costAlone(clients, plan) },
    ...['dead', 'hung'].map((kind) => ({
      name: `${kind} server`,
      measure: ({ quick }) => outage(kind, names, quick ? QUICK_OUTAGE : OUTAGE),
    })),
  ];
  return { scenarios, close };
}

/** Ours at every number of callers; the peers at the highest, where what a call costs decides the throughput. */
async function cost(clients, { callers, rounds }) {
  const arms = clients.map(({ name, get }) => ({ name, run: () => get(KEY) }));
  const [raw] = arms;
  const again = { ...raw, name: 'raw against itself' };
  const ours = arms.filter(({ name }) => name === 'ours');
  const peers = arms.filter(({ name }) => name !== 'raw' && name !== 'ours');
  const most = Math.max(...callers);
  const rows = [];
  for (const count of callers) {
    rows.push(...(await gateCost(raw, [again, ...ours], count, count === most ? rounds * 4 : rounds * 2)));
  }
  return [...rows, ...(await gateCost(raw, peers, most, rounds))];
}

/** Without the socket, whose cost is ten times that of the gate and varies by more: replies come in batches, as if read. */
async function costAlone(clients, { callers, rounds }) {
  let owed = [];
  const answer = () => {
    const resolves = owed;
    owed = [];
    for (const resolve of resolves) resolve('reply');
  };
  const send = () => new Promise((resolve) => void (owed.push(resolve) === 1 && setImmediate(answer)));
  const raw = { name: 'raw', run: send };
  const again = { ...raw, name: 'raw against itself' };
  const { alone } = clients.find(({ name }) => name === 'ours');
  const ours = { name: 'ours', run: () => alone(() => send()) };
  const rows = [];
  for (const count of callers) rows.push(...(await gateCost(raw, [again, ours], count, rounds * 8)));
  return rows;
}

function found(value) {
  if (value?.length !== VALUE.length) throw new Error('GET did not find the value');
}

function stored(reply) {
  if (reply !== 'OK') throw new Error('SET did not store the value');
}
