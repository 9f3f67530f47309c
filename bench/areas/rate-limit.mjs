// A decision by one policy, beside the same script sent by hand.
import { RateLimitService } from 'nestjs-redis-patterns';
import { openApplication, openRaw, peer } from '../lib/context.mjs';

const SUBJECTS = 1000;
const LIMIT = 1_000_000;

export async function rateLimit(url) {
  const raw = openRaw(url);
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
    const call = await recordedCall(raw, () => service.consume(policy, 'subject:0'));
    scenarios.push({
      name: `${policy} window`,
      arms: [
        {
          name: 'raw',
          run: (i) =>
            raw.evalsha(
              call.sha,
              call.keys.length,
              ...call.keys.map((key) => key.replace('subject:0', `raw:${i % SUBJECTS}`)),
              ...call.args,
            ),
        },
        { name: 'ours', run: (i) => service.consume(policy, `subject:${i % SUBJECTS}`) },
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

/** The EVALSHA that the service sends, as MONITOR shows it: the raw arm sends exactly that. */
async function recordedCall(raw, act) {
  await act();
  const monitor = await raw.monitor();
  const seen = new Promise((resolve) => {
    monitor.on('monitor', (_time, args) => void (/^evalsha$/i.test(args[0]) && resolve(args)));
  });
  await act();
  const [, sha, count, ...rest] = await seen;
  monitor.disconnect();
  return { sha, keys: rest.slice(0, Number(count)), args: rest.slice(Number(count)) };
}

async function flexibleArm(client) {
  const flexible = await peer('rate-limiter-flexible');
  if (!flexible) return [];
  const limiter = new flexible.RateLimiterRedis({ storeClient: client, points: LIMIT, duration: 60, keyPrefix: 'rlf' });
  return [{ name: 'rate-limiter-flexible', run: (i) => limiter.consume(`subject:${i % SUBJECTS}`) }];
}
