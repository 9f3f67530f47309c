// Apart from test-locks.ts, which programs outside of jest import too.
import type { RedisAdmin } from '../../support/redis-admin.js';
import { connectAdmin, startOwn, startProxy, type FaultProxy } from '../../support/topologies.js';
import { openLocks, type OpenLocks } from './test-locks.js';

export type CleanUps = (() => Promise<unknown> | void)[];

/** Locks that reach a server of their own through a fault proxy; `admin` reaches it directly. `cleanUps` gets what ends all of it. */
export async function openLocksBehindProxy(
  cleanUps: CleanUps,
): Promise<{ open: OpenLocks; admin: RedisAdmin; proxy: FaultProxy }> {
  const topology = await startOwn('standalone', { user: 'lock' });
  cleanUps.push(() => topology.stop());
  const proxy = await startProxy(await topology.primary());
  cleanUps.push(() => proxy.close());
  const admin = await connectAdmin(topology);
  cleanUps.push(() => admin.close());
  const { host, port } = proxy;
  const open = await openLocks({
    connection: { mode: 'standalone', host, port, ...topology.users?.app },
    namespace: 'shop',
  });
  cleanUps.push(() => open.close());
  // The server knows how to take and release from here on: what a fault hits is a grant, never the reply NOSCRIPT.
  await open.locks.using('warm-up', {}, () => undefined);
  return { open, admin, proxy };
}
