import { afterEach, expect, it } from '@jest/globals';
import { eventually } from '../../support/eventually.js';
import { describeOn, startProxies } from '../../support/topologies.js';
import { KeyCrew } from './key-crew.js';

describeOn('standalone', 'the history of keys over a bad network', { user: 'stream' }, (topology) => {
  const closing: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0).toReversed()) await close();
  }, 30_000);

  it('has each start in its order and no two at once, whatever request or reply is lost', async () => {
    const fleet = await startProxies(topology.nodes);
    closing.push(() => fleet.close());
    const [proxy] = fleet.proxies;
    const { host, port } = proxy!;
    const crew = await KeyCrew.gather(topology, { ...topology.connection, mode: 'standalone', host, port });
    closing.push(() => crew.dismiss());
    await Promise.all([crew.start(), crew.start()]);
    const stop = crew.publishOn();
    for (let round = 0; round < 3; round++) {
      for (const mode of ['dropDown', 'dropUp'] as const) {
        await crew.more(20);
        const before = proxy!.bytesLost;
        await fleet.set(mode, { cut: true });
        await eventually(() => proxy!.bytesLost > before + 500, { timeout: 30_000 });
        await fleet.set('pass');
      }
    }
    await crew.more(20);
    await fleet.set('halfOpen');
    await fleet.set('pass');
    await crew.more(40);
    await stop();
    expect(await crew.verdict()).toEqual([]);
  }, 180_000);
});
