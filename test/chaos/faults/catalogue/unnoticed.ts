// The application itself: its event loop stalls, its clock jumps; and what the Cluster does behind its back.
import { slotOf } from '../../../../libs/redis-patterns/src/keys/index.js';
import { UNHARMED } from '../../support/faults-ends.js';
import { listKey, readKey, streamKey } from '../../support/faults-keys.js';
import { ALL_MODES, type Fault } from '../../support/faults-runner.js';
import type { Place } from '../../support/faults-place.js';

/** Nothing may be noticed. */
const UNNOTICED: Fault['only'] = {
  read: /^ok/,
  once: /^ok$/,
  token: /^ok$/,
  publish: /^ok$/,
  // A decision has 100 ms, which a busy machine may use up: then this process decides.
  limit: /^ok (redis|local)$/,
};

async function migrate({ own }: Place, slot: number, pause: () => Promise<unknown>): Promise<void> {
  const masters = await own.masters();
  const counts = await Promise.all(masters.map((master) => master.command('CLUSTER', 'COUNTKEYSINSLOT', slot)));
  const from = masters[counts.findIndex((count) => count > 0)]!;
  const to = masters.find((master) => master !== from)!;
  const [fromId, toId] = await Promise.all([from, to].map((node) => node.command('CLUSTER', 'MYID')));
  await to.command('CLUSTER', 'SETSLOT', slot, 'IMPORTING', fromId);
  await from.command('CLUSTER', 'SETSLOT', slot, 'MIGRATING', toId);
  await pause();
  const keys: string[] = await from.command('CLUSTER', 'GETKEYSINSLOT', slot, 1000);
  const { username, password } = own.users!.admin;
  const how = ['REPLACE', 'AUTH2', username, password, 'KEYS'];
  await from.command('MIGRATE', to.host, to.port, '', 0, 2000, ...how, ...keys);
  await pause();
  for (const node of [to, from, ...masters]) await node.command('CLUSTER', 'SETSLOT', slot, 'NODE', toId);
  await pause();
}

export const unnoticed: readonly Fault[] = [
  {
    name: 'the event loop stalls while replies are in the socket',
    modes: ALL_MODES,
    short: ['standalone', 'cluster'],
    shows: UNHARMED,
    only: UNNOTICED,
    cause: async (_, app) => void (await app.ask('stall', { ms: 800 })),
  },
  {
    name: 'the wall clock jumps ahead, and back',
    modes: ALL_MODES,
    short: ['sentinel'],
    shows: { ...UNHARMED, limit: /^ok redis$/ },
    only: UNNOTICED,
    cause: async (_, app) => {
      for (const by of [86_400_000, -86_400_000]) {
        await app.ask('clock', { by });
        await app.ask('mark');
        await app.shows(UNHARMED);
      }
      return () => app.ask('clock', { by: 0 });
    },
  },
  {
    name: 'slots that move to another node',
    modes: ['cluster'],
    short: ['cluster'],
    only: { read: /^ok/, once: /^ok$/, publish: /^ok$/ },
    cause: async (place, app) => {
      const { namespace } = place;
      const pause = () => app.ask('mark').then(() => app.shows(UNHARMED));
      await migrate(place, slotOf(readKey(namespace, 1)), pause);
      await migrate(place, slotOf(listKey(namespace, app.run, 2)), pause);
      await migrate(place, slotOf(streamKey(namespace)), pause);
    },
  },
];
