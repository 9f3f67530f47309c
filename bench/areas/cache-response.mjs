// What a hit of a cached HTTP response costs beyond the same route without a cache, beside the interceptor of
// @nestjs/cache-manager, on Express and on Fastify.
import { openResponses } from '../lib/cache/responses.mjs';
import { commandCounter } from '../lib/commands.mjs';
import { openRaw } from '../lib/context.mjs';
import { gateCost } from '../lib/gate-cost.mjs';

const CALLERS = [1, 16];
const ADAPTERS = /** @type {const} */ (['express', 'fastify']);

export async function cacheResponse(url) {
  const raw = openRaw(url);
  const scenarios = ADAPTERS.map((adapter) => ({
    name: `hit ${adapter}`,
    measure: ({ rounds }) => hitCost(adapter, url, raw, rounds),
  }));
  return { scenarios, close: async () => raw.disconnect() };
}

async function hitCost(adapter, url, raw, repeats) {
  const { arms, close } = await openResponses(adapter, url);
  const [bare, ...others] = arms;
  const measured = [{ ...bare, name: 'bare again' }, ...others];
  const rows = [];
  for (const callers of CALLERS) {
    for (const row of await gateCost(bare, measured, callers, repeats)) {
      const arm = measured.find(({ name }) => name === row.arm);
      rows.push({ ...row, commandsPerOp: await commandCounter(raw)(arm, callers) });
    }
  }
  await close();
  return rows;
}
