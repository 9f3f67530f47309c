import type { ConnectionOptions } from 'nestjs-redis-patterns';

/** What `npm run demo` has started or found: options or a URL, as JSON. */
export function connection(): ConnectionOptions {
  const given = JSON.parse(process.env.REDIS_PATTERNS_CONNECTION ?? '"redis://127.0.0.1:6379"') as
    string | ConnectionOptions;
  // The shop writes its catalogue at boot: without Redis it has nothing to sell.
  return { ...(typeof given === 'string' ? { url: given } : given), startup: 'fail-fast' };
}

/** Whether Redis was started for the demo alone: there something may be killed. */
export function throwaway(): boolean {
  return process.env.DEMO_THROWAWAY === '1';
}

/** Whether it may stand still as well: Sentinels would make another server the master. */
export function freezable(): boolean {
  return process.env.DEMO_FREEZABLE === '1';
}
