import { readFile } from 'node:fs/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { findTie } from '../../scripts/servers/index.mjs';
import { startProgram, type Program } from '../support/child-process.js';
import { eventually } from '../support/eventually.js';

/** A zombie is dead; it only waits for its parent to take note. */
async function isAlive(pid: number): Promise<boolean> {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return !/\) [ZX] /.test(stat);
}

describe('a runner that is killed with SIGKILL', () => {
  let runner: Program | undefined;
  afterEach(() => runner?.kill());

  const ties = [...new Set([findTie(), 'pipe' as const])];
  for (const tie of ties) {
    for (const mode of ['standalone', 'sentinel', 'cluster'] as const) {
      it(`leaves no server of its ${mode} behind (tied by ${tie})`, async () => {
        runner = startProgram(new URL('./programs/own-servers.ts', import.meta.url), { data: { mode, tie } });
        const { pids } = (await runner.next('started')) as unknown as { pids: number[] };
        expect(pids).toHaveLength({ standalone: 1, sentinel: 6, cluster: 6 }[mode]);
        for (const pid of pids) expect(await isAlive(pid)).toBe(true);
        await runner.kill('SIGKILL');
        await eventually(async () => {
          for (const pid of pids) expect(await isAlive(pid)).toBe(false);
        });
      });
    }
  }
});
