import { afterEach, describe, expect, it } from '@jest/globals';
import { startProgram, type Program } from '../../support/child-process.js';
import type { Mode } from '../../support/topologies.js';
import { marksIn } from './programs/secrets/marks.js';
import type { Leak } from './programs/secrets/sinks.js';

interface Report {
  readonly leaks: Leak[];
  readonly seen: Record<string, number>;
  readonly tame: string[];
  readonly codes: string[];
}

/** Every code of docs/errors.md that an operation or the boot of a connection can end with. */
const CODES = [
  'ERR_REDIS_CONNECT',
  'ERR_REDIS_NOT_READY',
  'ERR_REDIS_BREAKER_OPEN',
  'ERR_REDIS_DEADLINE',
  'ERR_REDIS_CONNECTION_LOST',
  'ERR_REDIS_REFUSED',
  'ERR_REDIS_OVERLOADED',
  'ERR_REDIS_CLOSED',
  'ERR_REDIS_ABORTED',
  'ERR_REDIS_COMMAND',
];
const SINKS = [
  'error',
  'log line',
  'stats',
  'sockets',
  'telemetry connection',
  'telemetry command',
  'telemetry breaker',
];
const MODES: readonly Mode[] = ['standalone', 'sentinel', 'cluster'];

const programs: Program[] = [];
afterEach(async () => {
  await Promise.all(programs.splice(0).map((program) => program.kill()));
});

describe.each(MODES)('passwords, bodies, subjects and keys on %s', (mode) => {
  it('can be read in no error, log line, event, service or output, whatever fails', async () => {
    const program = startProgram(new URL('./programs/secrets/main.ts', import.meta.url), { data: { mode } });
    programs.push(program);
    const { leaks, seen, tame, codes } = (await program.next('report', { timeout: 110_000 })) as unknown as Report;
    // Each provocation must have provoked what it is for, and each sink been given something.
    expect(codes).toEqual(expect.arrayContaining(CODES));
    expect(Object.keys(seen)).toEqual(expect.arrayContaining(SINKS));
    expect({ leaks, tame, output: marksIn(program.output) }).toEqual({ leaks: [], tame: [], output: [] });
  }, 120_000);
});
