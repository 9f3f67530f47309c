// @ts-check

/** Stops what global-setup.mjs started. */
export default async function globalTeardown() {
  /** @type {import('../scripts/servers/index.mjs').Topology[]} */
  const topologies = Reflect.get(globalThis, 'redisPatternsTopologies') ?? [];
  await Promise.all(topologies.map((topology) => topology.stop()));
}
