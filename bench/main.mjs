// npm run -s bench -- <area…> [--only=<scenario>] [--json] [--quick]
import { parseArgs } from 'node:util';
import { Redis } from 'ioredis';
import { cache } from './areas/cache.mjs';
import { cacheResponse } from './areas/cache-response.mjs';
import { connections } from './areas/connections.mjs';
import { data } from './areas/data.mjs';
import { idempotency } from './areas/idempotency.mjs';
import { lock } from './areas/lock.mjs';
import { pubsub } from './areas/pubsub.mjs';
import { rateLimit } from './areas/rate-limit.mjs';
import { session } from './areas/session.mjs';
import { stream } from './areas/stream.mjs';
import { telemetry } from './areas/telemetry.mjs';
import { transport } from './areas/transport.mjs';
import { commandCounter } from './lib/commands.mjs';
import { measureScenario } from './lib/measure.mjs';
import { printTables } from './lib/table.mjs';

const AREAS = {
  connections,
  cache,
  'cache-response': cacheResponse,
  'rate-limit': rateLimit,
  idempotency,
  lock,
  session,
  stream,
  data,
  telemetry,
  pubsub,
  transport,
};
const FULL = { callers: [1, 16, 64], rounds: 5, sliceMs: 160, warmUpMs: 100, quick: false };
const QUICK = { callers: [1, 16, 64], rounds: 2, sliceMs: 60, warmUpMs: 40, quick: true };

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: 'boolean' }, quick: { type: 'boolean' }, only: { type: 'string' } },
});
const unknown = positionals.filter((name) => !Object.hasOwn(AREAS, name));
if (unknown.length > 0) {
  process.stderr.write(`Unknown area ${unknown.join(', ')}; there are ${Object.keys(AREAS).join(', ')}\n`);
  process.exit(2);
}
const url = process.env.BENCH_REDIS_URL ?? 'redis://127.0.0.1:6379';
const admin = new Redis(url);
const plan = values.quick ? QUICK : FULL;
const rows = [];
for (const name of positionals.length > 0 ? positionals : Object.keys(AREAS)) {
  const { scenarios, close } = await AREAS[name](url);
  for (const scenario of scenarios) {
    if (values.only !== undefined && !scenario.name.startsWith(values.only)) continue;
    process.stderr.write(`[bench] ${name}: ${scenario.name}\n`);
    if (scenario.measure) {
      const measured = await scenario.measure(plan);
      rows.push(...measured.map((row) => ({ area: name, scenario: scenario.name, ...row })));
    } else rows.push(...(await measureScenario(name, scenario, plan, commandCounter(admin))));
  }
  await close();
}
admin.disconnect();
if (values.json) process.stdout.write(`${JSON.stringify(rows)}\n`);
else printTables(rows);
