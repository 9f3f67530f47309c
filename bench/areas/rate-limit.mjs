// A decision by one policy, beside the same script of the library's build sent by hand.
import { RateLimitService } from 'nestjs-redis-patterns';
import { openApplication, openRaw, peer } from '../lib/context.mjs';

const SUBJECTS = 1000;
const LIMIT = 1_000_000;
const BUILD = new URL('./rate-limit/scripts.generated.js', import.meta.resolve('nestjs-redis-patterns'));

export async function rateLimit(url) {
  const raw = openRaw(url);
  const { consumeScript } = await import(BUILD.href);
  await raw.script('LOAD', consumeScript.lua);
  const app = await openApplication(url, {
    rateLimit: {
      policies: {
        fixed: { algorithm: 'fixed-window', limit: LIMIT, window: '1m' },
        sliding: { algorithm: 'sliding-window', limit: LIMIT, window: '1m' },
      },
    },
  });
  const service = app.get(RateLimitService);
  const scenarios = [];
  for (const policy of ['fixed', 'sliding']) {
    const call = await recordedCall(raw, consumeScript.sha, () => service.consume(policy, 'subject:0'));
    let elsewhere = 0;
    scenarios.push({
      name: `${policy} window`,
      arms: [
        {
          name: 'raw',
          run: async (i) => {
            const key = call.key.replace('subject:0', `raw:${i % SUBJECTS}`);
            const [allowed] = await raw.evalsha(consumeScript.sha, 1, key, ...call.args);
            if (allowed !== 1) throw new Error('A call below the limit was refused');
          },
        },
        {
          name: 'ours',
          run: async (i) => {
            const { allowed, source } = await service.consume(policy, `subject:${i % SUBJECTS}`);
            if (!allowed) throw new Error('A call below the limit was refused');
            if (source !== 'redis') elsewhere++;
          },
          teardown: async () => {
            if (elsewhere === 0) return;
            process.stderr.write(`[bench] ${policy} window: ${elsewhere} decisions of ours missed the deadline\n`);
          },
        },
        ...(policy === 'fixed' ? await flexibleArm(raw) : []),
      ],
    });
  }
  const close = async () => {
    await app.close();
    raw.disconnect();
  };
  return { scenarios, close };
}

/** Key and arguments of the EVALSHA that the service sends, as MONITOR shows it: the raw arm sends exactly that. */
async function recordedCall(raw, sha, act) {
  const monitor = await raw.monitor();
  const seen = new Promise((resolve) => {
    monitor.on('monitor', (_time, args) => void (/^evalsha$/i.test(args[0]) && resolve(args)));
  });
  await act();
  const [, sent, count, key, ...args] = await seen;
  monitor.disconnect();
  if (sent !== sha || count !== '1' || !key.includes('subject:0'))
    throw new Error(`Not the expected call: ${sent} ${key}`);
  return { key, args };
}

async function flexibleArm(client) {
  const modules = await peer('rate-limiter-flexible');
  if (!modules) return [];
  const [flexible] = modules;
  const limiter = new flexible.RateLimiterRedis({ storeClient: client, points: LIMIT, duration: 60, keyPrefix: 'rlf' });
  return [{ name: 'rate-limiter-flexible', run: (i) => limiter.consume(`subject:${i % SUBJECTS}`) }];
}
