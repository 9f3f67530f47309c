// @ts-check
import { spawn } from 'node:child_process';

/**
 * Where the kernel cannot be asked: a shell holds the read end of a pipe of ours. When we are gone, by whatever
 * death, `cat` sees the end of the pipe and the program is killed; when the program ends, so does the shell.
 */
const GUARD = `
exec 3<&0
"$@" </dev/null 3<&- &
program=$!
( cat <&3 >/dev/null; kill -9 "$program" ) 2>/dev/null &
guard=$!
exec 3<&-
wait "$program"
status=$?
kill -9 "$guard" 2>/dev/null
exit "$status"
`;

/**
 * Starts a program that dies with this process, even when this process is killed with SIGKILL.
 *
 * The child does not keep this process alive either. With 'pdeathsig' the child's pid is the program's; with 'pipe' it
 * is a shell's, and the program has to be asked for its own.
 *
 * @param {'pdeathsig' | 'pipe'} tie
 * @param {string} program
 * @param {readonly string[]} args
 * @param {{ env?: NodeJS.ProcessEnv, cwd?: string, output: number | 'ignore' | 'inherit', signal?: string }} options output: a file descriptor
 *   for what the program prints; signal: what it gets when we die (pdeathsig only), KILL by default
 * @returns {import('node:child_process').ChildProcess}
 */
export function spawnTied(tie, program, args, { env, cwd, output, signal = 'KILL' }) {
  const child =
    tie === 'pdeathsig'
      ? spawn('setpriv', ['--pdeathsig', signal, program, ...args], { env, cwd, stdio: ['ignore', output, output] })
      : spawn('/bin/sh', ['-c', GUARD, 'guard', program, ...args], { env, cwd, stdio: ['pipe', output, output] });
  child.unref();
  /** @type {import('node:net').Socket | null} */ (child.stdin)?.unref();
  child.stdin?.on('error', () => {});
  return child;
}
