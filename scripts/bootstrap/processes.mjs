// @ts-check
import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { ROOT } from './log.mjs';

const SIGNALS = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']);
const GUARD = new URL('./exit-with-parent.mjs', import.meta.url).href;

/** @typedef {import('node:child_process').ChildProcess} ChildProcess */

/**
 * The exit code a shell would report.
 *
 * @param {ChildProcess} child
 * @returns {Promise<number>}
 */
export async function ended(child) {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  return child.exitCode ?? 1;
}

/**
 * Runs a tool to its end with all its output on standard error.
 *
 * @param {string} program
 * @param {readonly string[]} args
 * @param {NodeJS.ProcessEnv} [env]
 * @returns {Promise<number>} the exit code
 */
export async function runTool(program, args, env = process.env) {
  const child = spawn(program, args, { cwd: ROOT, env, stdio: ['ignore', 2, 2] });
  return ended(await started(child));
}

/**
 * Runs a program in the foreground: it has our standard streams and gets our signals.
 *
 * @param {readonly string[]} nodeArgs
 * @param {NodeJS.ProcessEnv} [env]
 * @param {number} [limit] milliseconds after which it is killed; what it has started is tied to it
 * @returns {Promise<number>} the exit code
 */
export async function runForeground(nodeArgs, env = process.env, limit) {
  const child = await started(spawn(process.execPath, nodeArgs, { cwd: ROOT, env, stdio: 'inherit' }));
  const stop = onStop((signal) => child.kill(signal));
  const kill = () => {
    process.stderr.write(`Not done within ${Number(limit) / 1000} s: killed\n`);
    child.kill('SIGKILL');
  };
  const timer = limit === undefined ? undefined : setTimeout(kill, limit);
  try {
    return await ended(child);
  } finally {
    clearTimeout(timer);
    stop();
  }
}

/**
 * Starts a Node.js program that ends with this process, whatever ends that.
 *
 * @param {string} file
 * @param {{ args?: readonly string[], env?: NodeJS.ProcessEnv, output?: 'inherit' | 'pipe' }} [options]
 * @returns {ChildProcess}
 */
export function startProgram(file, { args = [], env = process.env, output = 'inherit' } = {}) {
  return fork(file, args, {
    cwd: ROOT,
    env,
    execArgv: ['--import', GUARD],
    stdio: ['ignore', output, output, 'ipc'],
  });
}

/**
 * Ends a program: politely first, after `grace` milliseconds by force.
 *
 * @param {ChildProcess} child
 * @param {number} [grace]
 */
export async function stopProgram(child, grace = 10_000) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), grace);
  await ended(child);
  clearTimeout(timer);
}

/**
 * Calls `handler` when this process is told to stop, also by the silent death of the npm that started it.
 *
 * @param {(signal: NodeJS.Signals) => void} handler
 * @returns {() => void} removes it
 */
export function onStop(handler) {
  for (const signal of SIGNALS) process.on(signal, handler);
  const parent = process.ppid;
  // Only under npm: started by hand, a background job may well outlive its shell.
  const underNpm = process.env.npm_lifecycle_event !== undefined;
  const watch = setInterval(() => {
    if (!underNpm || process.ppid === parent) return;
    clearInterval(watch);
    handler('SIGTERM');
  }, 500);
  watch.unref();
  return () => {
    clearInterval(watch);
    for (const signal of SIGNALS) process.off(signal, handler);
  };
}

/**
 * A program that does not exist is reported by an event, not by `spawn` itself.
 *
 * @param {ChildProcess} child
 */
async function started(child) {
  await once(child, 'spawn');
  return child;
}
