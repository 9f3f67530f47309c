import { eventually } from './eventually.js';
import type { FaultProxy } from './topologies.js';

/**
 * Makes a call whose reply is lost together with its connection; then the network is well again. The server is done before
 * its answer has come as far as the proxy: only what the proxy has thrown away is lost.
 *
 * @param proxy in front of the only server that the call goes to
 * @param applied whether the server has done what the call asks for
 */
export async function loseReply<T>(
  proxy: FaultProxy,
  call: () => Promise<T>,
  applied: () => Promise<boolean> | boolean = () => true,
): Promise<T> {
  const { bytesLost } = proxy;
  await proxy.set('dropDown', { cut: true });
  const running = call();
  // It may fail while we still wait: whoever called hears of it in the end.
  running.catch(() => undefined);
  await eventually(async () => proxy.bytesLost > bytesLost && (await applied()), { interval: 5, what: 'a lost reply' });
  await proxy.set('pass');
  return running;
}
