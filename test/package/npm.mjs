// @ts-check
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/**
 * Runs the npm that started us, or the one on PATH.
 *
 * @param {readonly string[]} args
 * @param {string} cwd
 * @returns {Promise<string>} what it printed
 */
export async function npm(args, cwd) {
  const own = process.env.npm_execpath;
  const viaNode = own !== undefined && /\.[cm]?js$/.test(own);
  const program = viaNode ? process.execPath : process.platform === 'win32' ? 'npm.cmd' : 'npm';
  // What an npm script sets for itself (a prefix, its workspaces) is not meant for another project.
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^npm_(config_(?!cache|registry)|lifecycle|package)/.test(name)),
  );
  const { stdout } = await run(program, [...(viaNode ? [own] : []), ...args], {
    cwd,
    env,
    maxBuffer: 64 * 1024 * 1024,
  });
  return stdout;
}
