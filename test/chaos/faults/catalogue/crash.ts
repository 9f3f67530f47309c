// Servers and connections that end, and servers that come back: empty, or with what they had persisted.
import { eventually } from '../../../support/eventually.js';
import type { Mode, Topology } from '../../../support/topologies.js';
import { UNSENT } from '../../support/faults-ends.js';
import { ALL_MODES, type Fault } from '../../support/faults-runner.js';
import type { Place } from '../../support/faults-place.js';

/** Kills every server; gives what starts them all again. */
async function killAll(own: Topology, data: 'keep' | 'wipe'): Promise<() => Promise<void>> {
  await Promise.all(own.nodes.map((node) => own.kill(node)));
  return async () => void (await Promise.all(own.nodes.map((node) => own.restart(node, { data }))));
}

const empty: Fault = {
  name: 'all servers killed, back empty',
  modes: ALL_MODES,
  short: ['standalone'],
  loses: true,
  shows: UNSENT,
  atOnce: true,
  cause: ({ own }) => killAll(own, 'wipe'),
};

function lost({ proxies }: Place['proxies']): number {
  return proxies.reduce((sum, { bytesLost }) => sum + bytesLost, 0);
}

/** Several short ones: while it lasts no connection can be made, so each hits only what is in flight when it begins: until a write was. */
function resets(name: string, mode: 'dropUp' | 'dropDown', short: readonly Mode[]): Fault {
  return {
    name,
    modes: ALL_MODES,
    short,
    cause: async ({ proxies }, app) => {
      for (let n = 0; n < 3 || !(await app.saw('once', /^unknown/)); n++) {
        await app.ask('mark');
        await app.shows({ once: /^ok$/ });
        const before = lost(proxies);
        await proxies.set(mode, { cut: true });
        await eventually(() => lost(proxies) > before);
        await proxies.set('pass');
      }
    },
  };
}

export const crash: readonly Fault[] = [
  empty,
  {
    name: 'connections killed by the server',
    modes: ALL_MODES,
    short: ['sentinel'],
    cause: async ({ cutApplication }) => {
      for (let n = 0; n < 10; n++) await cutApplication();
    },
  },
  resets('connections reset before the server has seen a command', 'dropUp', ['cluster']),
  resets('connections reset before the answer arrives', 'dropDown', ['standalone']),
  {
    name: 'connections refused',
    modes: ALL_MODES,
    short: [],
    shows: UNSENT,
    atOnce: true,
    cause: async ({ proxies }) => {
      await proxies.set('refuse');
      return () => proxies.set('pass');
    },
  },
  {
    name: 'maxclients: no new connections',
    modes: ALL_MODES,
    short: ['cluster'],
    shows: UNSENT,
    atOnce: true,
    cause: async ({ onMasters, cutApplication }) => {
      await onMasters('CONFIG', 'SET', 'maxclients', 1);
      await cutApplication();
      return () => onMasters('CONFIG', 'SET', 'maxclients', 1000);
    },
  },
];

/** For servers with a log on disk. */
export const crashWithLog: readonly Fault[] = [
  {
    name: 'all servers killed, back with every acknowledged write',
    modes: ALL_MODES,
    short: ['sentinel'],
    shows: UNSENT,
    atOnce: true,
    cause: ({ own }) => killAll(own, 'keep'),
  },
];

/** For servers that save snapshots, and load them slowly. */
export const crashWithSnapshots: readonly Fault[] = [
  {
    name: 'killed, back with what was saved',
    modes: ['standalone'],
    short: [],
    loses: true,
    shows: UNSENT,
    atOnce: true,
    cause: async ({ own, onMasters }) => {
      await onMasters('SAVE');
      return killAll(own, 'keep');
    },
  },
  {
    name: 'LOADING',
    modes: ['standalone', 'cluster'],
    short: ['standalone'],
    loses: true,
    // A connection counts as ready only when the server has loaded.
    shows: UNSENT,
    atOnce: true,
    cause: async ({ own, onMasters, namespace }) => {
      // At 0.1 ms a key: longer than the contender waits for its lock.
      await onMasters('DEBUG', 'POPULATE', 25_000, `${namespace}:many`);
      await onMasters('SAVE');
      const masters = await own.masters();
      await Promise.all(masters.map((master) => own.restart(master, { data: 'keep', loading: true })));
      return () => onMasters('FLUSHALL');
    },
  },
];
