import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { DoctorService, type DoctorReport, type ExamineOptions } from 'nestjs-redis-patterns';
import { eventually } from '../../support/eventually.js';
import { startProxy, useOwn, type FaultProxy } from '../../support/topologies.js';

/** `CHAOS=long`: a million keys and the budget of the defaults. */
const LONG = process.env.CHAOS === 'long';
const KEYS = LONG ? 1_000_000 : 50_000;
const own = useOwn('standalone');
const FAST: ExamineOptions = { duty: 1, latencyGuard: '10s' };

beforeAll(async () => {
  await own.admin.client.call('DEBUG', 'POPULATE', KEYS, 'shop:cache:item', 100);
}, 60_000);

function examine(options: ExamineOptions, connection: object = own.topology.connection): Promise<DoctorReport> {
  return DoctorService.forConnection(connection).examine(options);
}

/** Calls back once, when the sample has begun. */
function once(callback: () => void): ExamineOptions['onProgress'] {
  let called = false;
  return () => {
    if (!called) callback();
    called = true;
  };
}

async function ownSockets(): Promise<string[]> {
  const clients = String(await own.admin.client.call('CLIENT', 'LIST'));
  return clients.split('\n').filter((line) => line.includes(':doctor:'));
}

describe('the limits of an examination', () => {
  it(`stay on ${KEYS} keys, while others are served`, async () => {
    const latencies: number[] = [];
    let running = true;
    const others = (async () => {
      for (; running;) {
        const began = performance.now();
        await own.admin.client.get('shop:cache:item:7');
        latencies.push(performance.now() - began);
        await new Promise((resolve) => setTimeout(resolve, 2));
      }
    })();
    const report = await examine(LONG ? {} : { maxKeys: 3000, duty: 0.25, latencyGuard: '1s' });
    running = false;
    await others;
    const wanted = LONG ? 20_000 : 3000;
    // On a busy machine another budget of the defaults may end it first.
    expect(LONG ? ['max-keys', 'max-time', 'latency'] : ['max-keys']).toContain(report.sample.stoppedBy);
    const margin = Number((1 / Math.sqrt(report.sample.keys)).toFixed(4));
    expect(report.sample).toMatchObject({ of: KEYS, margin });
    expect(report.sample.keys).toBeGreaterThanOrEqual(LONG ? 100 : wanted);
    expect(report.sample.keys).toBeLessThan(wanted + 300);
    expect(report.elapsedMs).toBeLessThan(31_000);
    // Far below the third of a second for which KEYS stops everybody; a busy machine is slow by itself.
    expect(latencies.toSorted((one, other) => one - other)[Math.floor(latencies.length * 0.95)]).toBeLessThan(100);
    expect(report.findings.map(({ id }) => id)).toContain('TTL002');
  }, 60_000);

  it('end the sample when the time is over, and call nothing good that was not seen', async () => {
    const report = await examine({ maxTime: '1s', maxKeys: 500_000, duty: 0.05, latencyGuard: '10s' });
    expect(report.sample.stoppedBy).toBe('max-time');
    expect(report.elapsedMs).toBeLessThan(3000);
    expect(report.passed).not.toContain('SIZE001');
    expect(report.notChecked).toContainEqual({ rule: 'SIZE001', reason: expect.stringContaining('maxTime was over') });
  });

  it('end at once by a signal, and leave no socket', async () => {
    const controller = new AbortController();
    const reason = new Error('enough');
    const began = performance.now();
    const running = examine({
      maxKeys: 500_000,
      duty: 0.05,
      signal: controller.signal,
      onProgress: once(() => controller.abort(reason)),
    });
    await expect(running).rejects.toBe(reason);
    expect(performance.now() - began).toBeLessThan(2000);
    await eventually(async () => expect(await ownSockets()).toEqual([]));
  });

  it('leave no socket at the end either', async () => {
    await examine({ ...FAST, maxKeys: 200 });
    await eventually(async () => expect(await ownSockets()).toEqual([]));
  });
});

describe('a server that gets slow', () => {
  let proxy: FaultProxy;
  beforeAll(async () => {
    proxy = await startProxy(await own.topology.primary());
  });
  afterAll(() => proxy.close());
  afterEach(() => proxy.set('pass'));

  const through = () => ({ host: proxy.host, port: proxy.port });

  it('ends the sample', async () => {
    const slow = once(() => void proxy.set('latency', { ms: 150 }));
    const report = await examine({ duty: 1, latencyGuard: '100ms', maxKeys: 500_000, onProgress: slow }, through());
    expect(report.sample.stoppedBy).toBe('latency');
    expect(report.notChecked.map(({ rule }) => rule)).toContain('SIZE001');
  });

  it('is left when its connection is cut, with what is known', async () => {
    const cut = once(() => {
      void proxy.set('refuse');
      proxy.cut();
    });
    const report = await examine({ ...FAST, maxKeys: 500_000, onProgress: cut }, through());
    expect(report.sample).toMatchObject({ stoppedBy: 'no-answer', of: KEYS });
    expect(report.target.unanswered).toHaveLength(1);
    expect(report.findings.map(({ id }) => id)).toContain('EVI001');
  });
});

describe('a server that hangs', () => {
  it('gives a partial report by the deadline', async () => {
    const node = await own.topology.primary();
    const began = performance.now();
    try {
      const freeze = once(() => own.topology.freeze(node));
      const report = await examine({ ...FAST, maxTime: '3s', maxKeys: 500_000, onProgress: freeze });
      expect(performance.now() - began).toBeLessThan(6000);
      expect(report.sample.stoppedBy).toBe('no-answer');
      expect(report.target.unanswered).toEqual([{ node: node.address, reason: expect.stringContaining('no answer') }]);
      expect(report.sample.keys).toBeGreaterThan(0);
      expect(report.findings.map(({ id }) => id)).toContain('EVI001');
      expect(report.passed).not.toContain('STR001');
    } finally {
      own.topology.resume(node);
    }
  });

  it('from the beginning is an error that says so', async () => {
    const node = await own.topology.primary();
    own.topology.freeze(node);
    try {
      await expect(examine({ maxTime: '1s' })).rejects.toMatchObject({
        code: 'ERR_REDIS_CONNECT',
        message: expect.stringContaining('no answer'),
      });
    } finally {
      own.topology.resume(node);
    }
  });
});
