// @ts-check
import { describeTopology, findServer, startTopology } from '../scripts/servers/index.mjs';

const MODES = /** @type {const} */ (['standalone', 'sentinel', 'cluster']);

/**
 * Which shared deployments this run needs. `REDIS_PATTERNS_TOPOLOGIES` says so ('none', 'standalone', 'standalone,cluster');
 * without it, a run that names only specs under `libs` needs none: those are the specs without a server.
 *
 * @param {readonly string[]} patterns the path patterns of the command line
 * @returns {readonly ('standalone' | 'sentinel' | 'cluster')[]}
 */
export function wantedModes(patterns, env = process.env) {
  const wish = env.REDIS_PATTERNS_TOPOLOGIES;
  if (wish === undefined || wish === '' || wish === 'all') {
    const unitOnly = patterns.length > 0 && patterns.every((pattern) => /(^|\/)libs(\/|$)/.test(pattern));
    return unitOnly ? [] : MODES;
  }
  if (wish === 'none') return [];
  return wish.split(',').map((name) => {
    const mode = MODES.find((each) => each === name.trim());
    if (!mode)
      throw new Error(
        `REDIS_PATTERNS_TOPOLOGIES: unknown ${JSON.stringify(name)}; use none, all or a list of ${MODES.join(', ')}`,
      );
    return mode;
  });
}

/**
 * Starts the shared servers before the first spec, a set for each worker: two specs that run at the same time neither see
 * nor slow each other there. The workers find them in `REDIS_PATTERNS_SHARED`.
 *
 * @param {{ maxWorkers: number, testPathPatterns?: { patterns: readonly string[] } }} globalConfig
 */
export default async function globalSetup(globalConfig) {
  const modes = wantedModes(globalConfig.testPathPatterns?.patterns ?? []);
  const began = performance.now();
  const binary = modes.length > 0 ? await findServer() : undefined;
  const wanted = Array.from({ length: globalConfig.maxWorkers }, () => modes).flat();
  const starts = await Promise.allSettled(wanted.map((mode) => startTopology(mode, { binary })));
  const topologies = starts.flatMap((start) => (start.status === 'fulfilled' ? [start.value] : []));
  const failed = starts.find((start) => start.status === 'rejected');
  if (failed) {
    await Promise.all(topologies.map((topology) => topology.stop()));
    throw failed.reason;
  }
  const described = topologies.map((topology) => describeTopology(topology));
  process.env.REDIS_PATTERNS_SHARED = JSON.stringify(
    Array.from({ length: globalConfig.maxWorkers }, (_, n) =>
      described.slice(n * modes.length, (n + 1) * modes.length),
    ),
  );
  // Jest runs setup and teardown in one process, in which a global is the only thing they share.
  Object.assign(globalThis, { redisPatternsTopologies: topologies });
  if (!binary) return;
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  const version = `${binary.flavour} ${binary.version.join('.')}`;
  process.stderr.write(`[redis] ${version}: ${modes.join(', ')} ready in ${seconds} s\n`);
}
