// Redis answers, and refuses: busy, full, read-only, without replicas, without a working disk.
import { mkdir, rm, rmdir } from 'node:fs/promises';
import path from 'node:path';
import { eventually } from '../../../support/eventually.js';
import { refusedWith, UNHARMED, writesRefusedWith } from '../../support/faults-ends.js';
import { ALL_MODES, type Fault } from '../../support/faults-runner.js';
import type { Place } from '../../support/faults-place.js';

/** A fault that is one directive of the configuration, on every master. */
function configured(name: string, value: number, healthy: number): Fault['cause'] {
  return async ({ onMasters }) => {
    await onMasters('CONFIG', 'SET', name, value);
    return () => onMasters('CONFIG', 'SET', name, healthy);
  };
}

async function bgsave({ onMasters }: Place, status: 'ok' | 'err'): Promise<void> {
  await onMasters('BGSAVE');
  await eventually(async () => {
    const infos = await onMasters('INFO', 'persistence');
    return infos.every((info) => String(info).includes(`rdb_last_bgsave_status:${status}`));
  });
}

export const refusal: readonly Fault[] = [
  {
    name: 'BUSY: an endless script, then killed',
    modes: ALL_MODES,
    short: ['standalone'],
    shows: refusedWith('BUSY'),
    cause: async ({ own, onMasters }) => {
      await onMasters('CONFIG', 'SET', 'busy-reply-threshold', 50);
      const scripts = (await own.masters()).map((master) => master.command('EVAL', 'while true do end', 0));
      const ended = Promise.allSettled(scripts);
      return async () => {
        await onMasters('SCRIPT', 'KILL');
        await ended;
      };
    },
  },
  {
    name: 'OOM',
    modes: ALL_MODES,
    short: ['cluster'],
    shows: writesRefusedWith('OOM'),
    cause: configured('maxmemory', 1, 0),
  },
  {
    name: 'NOREPLICAS',
    modes: ALL_MODES,
    short: ['sentinel'],
    shows: writesRefusedWith('NOREPLICAS'),
    cause: configured('min-replicas-to-write', 9, 0),
  },
  {
    name: 'MISCONF: snapshots fail',
    modes: ALL_MODES,
    short: ['standalone'],
    shows: writesRefusedWith('MISCONF'),
    cause: async (place) => {
      const { onMasters } = place;
      // A folder where the file has to be.
      const files = (await place.own.masters()).map(({ dir }) => path.join(dir, 'dump.rdb'));
      await Promise.all(files.map((file) => rm(file, { force: true }).then(() => mkdir(file))));
      await onMasters('CONFIG', 'SET', 'save', '3600 1000000');
      await bgsave(place, 'err');
      return async () => {
        await Promise.all(files.map((file) => rmdir(file)));
        await bgsave(place, 'ok');
        await onMasters('CONFIG', 'SET', 'save', '');
      };
    },
  },
  {
    name: 'READONLY: the server is somebody else’s replica',
    modes: ['standalone'],
    short: ['standalone'],
    shows: writesRefusedWith('READONLY'),
    cause: async ({ onMasters }) => {
      await onMasters('REPLICAOF', '127.0.0.1', 1);
      return () => onMasters('REPLICAOF', 'NO', 'ONE');
    },
  },
  {
    name: 'FLUSHALL',
    modes: ALL_MODES,
    short: ['cluster'],
    loses: true,
    cause: async ({ onMasters }) => void (await onMasters('FLUSHALL')),
  },
  {
    name: 'SCRIPT FLUSH, again and again',
    modes: ALL_MODES,
    short: ['sentinel'],
    shows: UNHARMED,
    only: { once: /^ok$/, token: /^ok$/, publish: /^ok$/, lock: /^ok$/ },
    cause: async ({ onMasters }) => {
      for (let n = 0; n < 50; n++) await onMasters('SCRIPT', 'FLUSH', 'SYNC');
    },
  },
];
