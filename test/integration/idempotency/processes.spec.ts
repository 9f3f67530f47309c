import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startProgram, type Message, type Program } from '../../support/child-process.js';
import { eventually } from '../../support/eventually.js';
import { describeOnEachTopology } from '../../support/topologies.js';
import { openIdempotency, type OpenIdempotency } from './test-idempotency.js';

const LEASE = 1000;

describeOnEachTopology('idempotency of several processes', { user: 'idempotency' }, (topology) => {
  let open: OpenIdempotency;
  let owner: Program;
  let runs = 0;
  beforeAll(async () => {
    const { connection, namespace } = topology;
    open = await openIdempotency(topology);
    owner = startProgram(new URL('./programs/owner.ts', import.meta.url), {
      data: { connection, namespace, lease: LEASE },
    });
    await owner.next('ready');
  });
  afterAll(async () => {
    await owner?.kill();
    await open?.close();
  });

  async function begin(key: string): Promise<Message> {
    runs += 1;
    owner.send({ type: 'run', key });
    return owner.next('running', { count: runs });
  }

  async function finish(): Promise<{ signal: Message; done: Message }> {
    owner.send({ type: 'finish' });
    return { signal: await owner.next('signal', { count: runs }), done: await owner.next('done', { count: runs }) };
  }

  it('an owner that stood still for longer than its lease learns of it, and changes no newer record', async () => {
    const { fence } = await begin('taken');
    await owner.kill('SIGSTOP');
    const newer = await open.service.run('taken', 'f', (context) => ['newer', context.fence], { onBusy: 'wait' });
    await owner.kill('SIGCONT');
    const { signal, done } = await finish();
    expect(signal).toMatchObject({ aborted: true, code: 'ERR_IDEMPOTENCY_LOST' });
    // Its own caller gets its result all the same.
    expect(done).toMatchObject({ result: 'of the late owner' });
    expect((newer[1] as bigint) > BigInt(fence as string)).toBe(true);
    expect(await open.service.run('taken', 'f', () => 'never')).toEqual(newer);
  });

  it('an owner that stood still keeps its result if nobody took its key', async () => {
    await begin('not taken');
    await owner.kill('SIGSTOP');
    const key = `${topology.namespace}:idempotency:not taken`;
    await eventually(async () => expect(await topology.admin.client.exists(key)).toBe(0));
    await owner.kill('SIGCONT');
    await finish();
    expect(await open.service.run('not taken', 'f', () => 'never')).toBe('of the late owner');
  });

  it('a killed owner keeps its key for its lease, and not for the ttl', async () => {
    await begin('killed');
    await owner.kill();
    const key = `${topology.namespace}:idempotency:killed`;
    expect(await topology.admin.client.pttl(key)).toBeLessThanOrEqual(LEASE);
    // It gives up after a few leases, a day before the ttl.
    const options = { onBusy: 'wait', maxWait: 5 * LEASE } as const;
    expect(await open.service.run('killed', 'f', () => 'ran', options)).toBe('ran');
  });
});
