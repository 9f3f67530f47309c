// The process that is killed: each message it handles counts in a hash.
import { openRaw } from '../context.mjs';
import { WAYS } from './arms.mjs';

const { name, url, effects } = JSON.parse(process.argv[2] ?? '{}');
const redis = openRaw(url);
const { close } = await WAYS[name].listen(url, (n) => redis.hincrby(effects, String(n), 1));
process.once('SIGTERM', () => {
  void close().finally(() => process.exit());
});
process.send?.('ready');
