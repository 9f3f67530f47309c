// @ts-check
import { once } from 'node:events';
import net from 'node:net';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { ExpectedError, ROOT, progress } from './bootstrap/log.mjs';
import { ended, onStop, startProgram, stopProgram } from './bootstrap/processes.mjs';
import { startTopology } from './servers/index.mjs';
import { freePort } from './servers/ports.mjs';
import { until } from './servers/wait.mjs';

const MODES = /** @type {const} */ (['standalone', 'sentinel', 'cluster']);
const HELP = `npm run demo -- [options]
  --mode=standalone|sentinel|cluster   the Redis to start for it (standalone); REDIS_URL uses one that runs already
  --tour                               drive the shop over HTTP, print what happened, and end: 0 only if all went right
  --port=3000                          where the shop listens (or PORT)`;
// The character behind it shows that the address came whole (colour codes may follow it).
const LISTENING = /listening on (https?:\/\/[\w.:[\]-]+)[^\w.:[\]-]/i;
const STARTUP = 30_000;
const TOUR_LIMIT = 180_000;

/**
 * @typedef {import('./servers/index.mjs').Mode} Mode
 * @typedef {{ mode: Mode, tour: boolean, port: number | undefined, url: string | undefined }} DemoOptions
 * @typedef {{ options: DemoOptions, env: NodeJS.ProcessEnv, programs: Shop['program'][], signal: AbortSignal }} Run
 * @typedef {{ program: import('node:child_process').ChildProcess, url: string, output: () => string }} Shop
 */

/**
 * @param {string[]} args
 * @returns {DemoOptions | undefined} undefined when help was asked for, and given
 */
export function parseDemoArguments(args, env = process.env) {
  const options = /** @type {const} */ ({
    mode: { type: 'string' },
    port: { type: 'string' },
    tour: { type: 'boolean' },
    help: { type: 'boolean', short: 'h' },
  });
  const { values } = parse(args, options);
  if (values.help) {
    process.stdout.write(`${HELP}\n`);
    return undefined;
  }
  const mode = values.mode === undefined ? undefined : MODES.find((each) => each === values.mode);
  if (values.mode !== undefined && !mode) throw new ExpectedError(`--mode=${values.mode} is unknown.\n${HELP}`);
  const url = env.REDIS_URL || undefined;
  const urlMode = url ? modeOfUrl(url) : undefined;
  if (mode && urlMode && mode !== urlMode) {
    throw new ExpectedError(`REDIS_URL is for ${urlMode}, --mode says ${mode}: unset one of them.`);
  }
  const port = values.port ?? env.PORT;
  if (port !== undefined && !/^\d{1,5}$/.test(port))
    throw new ExpectedError(`The port must be a number, not ${JSON.stringify(port)}.`);
  return {
    mode: mode ?? urlMode ?? 'standalone',
    tour: values.tour ?? false,
    port: port ? Number(port) : undefined,
    url,
  };
}

/**
 * @template {import('node:util').ParseArgsConfig['options']} T
 * @param {string[]} args
 * @param {T} options
 */
function parse(args, options) {
  try {
    return parseArgs({ args, options });
  } catch (error) {
    throw new ExpectedError(`${error instanceof Error ? error.message : String(error)}\n${HELP}`);
  }
}

/**
 * @param {string} url
 * @returns {Mode}
 */
function modeOfUrl(url) {
  const match = /^rediss?(?:\+(sentinel|cluster))?:\/\//.exec(url);
  if (!match)
    throw new ExpectedError('REDIS_URL must begin with redis://, rediss://, redis+sentinel:// or redis+cluster://.');
  return MODES.find((mode) => mode === match[1]) ?? 'standalone';
}

/**
 * Starts Redis and the shop; serves until it is told to stop, or takes the tour.
 *
 * @param {DemoOptions} options
 * @returns {Promise<number>} the exit code
 */
export async function runDemo(options) {
  const stopping = new AbortController();
  const remove = onStop(() => stopping.abort());
  const stopped = once(stopping.signal, 'abort');
  /** @type {import('./servers/index.mjs').Topology | undefined} */
  let topology;
  /** @type {Shop['program'][]} */
  const programs = [];
  try {
    if (!options.url) {
      progress('redis', `starting a throw-away ${options.mode}`);
      topology = await startTopology(options.mode);
    }
    const throwaway = topology ? { DEMO_THROWAWAY: '1' } : {};
    // Sentinels would make another server the master of one that is frozen.
    const freezable = topology && options.mode !== 'sentinel' ? { DEMO_FREEZABLE: '1' } : {};
    const env = { ...process.env, ...throwaway, ...freezable, ...connectionEnv(options, topology) };
    /** @type {Run} */
    const run = { options, env, programs, signal: stopping.signal };
    const work = options.tour ? takeTour(run) : serve(run);
    // To be stopped is how serving ends; for a tour it is a failure.
    return await Promise.race([work, stopped.then(() => (options.tour ? 1 : 0))]);
  } finally {
    stopping.abort();
    await Promise.all(programs.map((program) => stopProgram(program)));
    await topology?.stop();
    remove();
    progress('demo', 'stopped; nothing of it is left running');
  }
}

/**
 * @param {DemoOptions} options
 * @param {import('./servers/index.mjs').Topology | undefined} topology
 */
function connectionEnv({ mode, url }, topology) {
  return {
    // What RedisPatternsModule.forRoot({ connection }) takes: options, or the URL that the user gave.
    REDIS_PATTERNS_CONNECTION: JSON.stringify(topology ? topology.connection : url),
    REDIS_URL: topology ? topology.url : url,
    REDIS_MODE: mode,
  };
}

/** @param {Run} run */
async function serve(run) {
  const { options } = run;
  const shop = await startShop(run, options.port ?? (await usualPort()), process.stdout);
  progress('demo', `${options.mode}: the shop is at ${shop.url}, its Swagger UI at ${shop.url}/docs; Ctrl-C stops it`);
  const code = await ended(shop.program);
  if (!run.signal.aborted) progress('demo', `the shop ended by itself with code ${code}`);
  return code || 1;
}

/**
 * Two shops on the same Redis, and the tour as a visitor.
 *
 * @param {Run} run
 */
async function takeTour(run) {
  const { env, options, programs } = run;
  const ports = [await freePort(), await freePort()];
  progress('demo', `starting two shops on ${options.mode}`);
  const shops = await Promise.all(ports.map((port) => startShop(run, port)));
  run.signal.throwIfAborted();
  const tour = startProgram(path.join(ROOT, 'dist/apps/demo/tour.js'), {
    env: {
      ...env,
      DEMO_URL: shops[0]?.url,
      DEMO_URLS: shops.map(({ url }) => url).join(','),
      DEMO_PIDS: shops.map(({ program }) => program.pid).join(','),
    },
  });
  programs.push(tour);
  const timer = setTimeout(() => {
    progress('demo', `the tour did not end within ${TOUR_LIMIT / 1000} s`);
    tour.kill('SIGKILL');
  }, TOUR_LIMIT);
  const code = await ended(tour);
  clearTimeout(timer);
  if (code !== 0)
    shops.forEach((shop, index) => process.stderr.write(`--- output of shop ${index + 1}\n${shop.output()}\n`));
  return code;
}

/**
 * Starts one shop and waits until it says where it listens.
 *
 * @param {Run} run
 * @param {number} port
 * @param {NodeJS.WritableStream} [show] where its output goes; kept for a failure anyway
 * @returns {Promise<Shop>}
 */
async function startShop({ env, programs, signal }, port, show) {
  signal.throwIfAborted();
  const program = startProgram(path.join(ROOT, 'dist/apps/demo/main.js'), {
    env: { ...env, PORT: String(port) },
    output: 'pipe',
  });
  programs.push(program);
  let output = '';
  for (const stream of [program.stdout, program.stderr]) {
    stream?.on('data', (/** @type {Buffer} */ chunk) => {
      output = (output + chunk.toString()).slice(-20_000);
      show?.write(chunk);
    });
  }
  const url = await until(
    'the shop to listen',
    () => LISTENING.exec(output)?.[1] ?? (program.exitCode !== null || program.signalCode !== null ? 'ended' : false),
    { timeout: STARTUP, interval: 25 },
  ).catch((error) => {
    throw new ExpectedError(`${error.message}\n${show ? '' : output}`);
  });
  if (url === 'ended') throw new ExpectedError(`The shop did not start.\n${show ? '' : output}`);
  return { program, url, output: () => output };
}

/** 3000, where people look for a Nest application, unless somebody else is there. */
async function usualPort() {
  const free = await new Promise((resolve) => {
    const server = net.createServer();
    server.once('error', () => resolve(false));
    server.listen({ port: 3000, exclusive: true }, () => server.close(() => resolve(true)));
  });
  if (free) return 3000;
  const port = await freePort();
  progress('demo', `port 3000 is taken, so the shop gets ${port}; --port chooses another one`);
  return port;
}
