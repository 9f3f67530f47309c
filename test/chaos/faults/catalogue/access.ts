// The application's credentials or rights are wrong for a while.
import { UNSENT, refusedWith } from '../../support/faults-ends.js';
import { ALL_MODES, type Fault } from '../../support/faults-runner.js';
import type { Place } from '../../support/faults-place.js';

const EVERYTHING = ['~*', '&*', '+@all'];
/** Replicas as well: they may be asked, and may become masters. */
async function onAllNodes({ own }: Place, ...args: string[]): Promise<void> {
  await Promise.all(own.nodes.map((node) => node.command(...args)));
}

export const access: readonly Fault[] = [
  {
    name: 'a wrong password, then the right one again',
    modes: ALL_MODES,
    short: ['standalone'],
    shows: UNSENT,
    cause: async (place) => {
      const { username, password } = place.own.users!.app;
      await onAllNodes(place, 'ACL', 'SETUSER', username, 'resetpass', '>another');
      await place.cutApplication();
      return () => onAllNodes(place, 'ACL', 'SETUSER', username, 'resetpass', `>${password}`);
    },
  },
  {
    name: 'a password that is rotated',
    modes: ALL_MODES,
    short: ['cluster'],
    cause: async (place, app) => {
      const { username, password } = place.own.users!.app;
      const rotate = async (next: string): Promise<void> => {
        await onAllNodes(place, 'ACL', 'SETUSER', username, 'resetpass', `>${next}`);
        await place.cutApplication();
        await app.ask('password', { value: next });
      };
      await rotate('the-next-one');
      await app.recovers();
      // Back to the one that the servers' files have, with which they would come back from a crash.
      return () => rotate(password);
    },
  },
  {
    name: 'a user that is deleted, and made again',
    modes: ALL_MODES,
    short: ['sentinel'],
    shows: UNSENT,
    cause: async (place) => {
      const { username, password } = place.own.users!.app;
      await onAllNodes(place, 'ACL', 'DELUSER', username);
      return () => onAllNodes(place, 'ACL', 'SETUSER', username, 'on', `>${password}`, ...EVERYTHING);
    },
  },
  {
    name: 'NOPERM: rights that are taken away, and given back',
    modes: ALL_MODES,
    short: ['cluster'],
    // That is a fault of the configuration, not of Redis: limits and locks say so.
    shows: { ...refusedWith('NOPERM'), limit: /NOPERM$/, contender: /NOPERM$/, publish: /NOPERM$/ },
    only: {
      limit: /^ok|NOPERM$/,
      lock: /^(ok|ERR_LOCK_)|NOPERM$/,
      keeper: /^(ok|ERR_LOCK_)|NOPERM$/,
      contender: /^(ok|ERR_LOCK_)|NOPERM$/,
    },
    cause: async (place) => {
      const { username } = place.own.users!.app;
      const needed = ['+ping', '+hello', '+auth', '+info', '+client|setname', '+cluster|slots', '+cluster|info'];
      await onAllNodes(place, 'ACL', 'SETUSER', username, '-@all', ...needed);
      return () => onAllNodes(place, 'ACL', 'SETUSER', username, ...EVERYTHING);
    },
  },
];
