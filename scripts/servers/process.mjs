// @ts-check
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { makeFolder } from './folders.mjs';
import { BUS_OFFSET, freePort } from './ports.mjs';
import { command, connect, parseInfo } from './resp.mjs';
import { spawnTied } from './tied-child.mjs';
import { GiveUp, until } from './wait.mjs';

/**
 * @typedef {object} Runtime what every server of a topology shares
 * @property {import('./binary.mjs').ServerBinary} binary
 * @property {'pdeathsig' | 'pipe'} tie
 * @property {import('./certificates.mjs').Certificates} [tls] absent: plain text
 * @property {import('./security.mjs').Users} [users] absent: no authentication
 *
 * @typedef {object} ProcessSpec
 * @property {string} id for messages, such as 'master-1'
 * @property {'redis' | 'sentinel'} [kind]
 * @property {boolean} [cluster] reserves the port of the cluster bus, too
 * @property {(context: { dir: string, port: number }) => readonly string[] | Promise<readonly string[]>} config lines of the configuration file
 */

const STARTS = 5;

/** One server process on a loopback port, in a folder of its own. */
export class ServerProcess {
  host = '127.0.0.1';
  /** @type {number} of the server itself, also when a guard stands between; 0 when it does not run */
  pid = 0;
  /** @type {'running' | 'frozen' | 'dead'} */
  state = 'dead';
  /** @type {import('node:child_process').ChildProcess | undefined} */
  #child;
  #runtime;
  #spec;

  /**
   * @param {Runtime} runtime
   * @param {ProcessSpec} spec
   * @param {string} dir
   */
  constructor(runtime, spec, dir) {
    this.#runtime = runtime;
    this.#spec = spec;
    this.dir = dir;
    this.port = 0;
  }

  get id() {
    return this.#spec.id;
  }

  get address() {
    return `${this.host}:${this.port}`;
  }

  get busPort() {
    return this.port + BUS_OFFSET;
  }

  /**
   * Starts a server and waits until it answers. A port that somebody else took in the meantime is replaced.
   *
   * @param {Runtime} runtime
   * @param {ProcessSpec} spec
   * @returns {Promise<ServerProcess>}
   */
  static async start(runtime, spec) {
    const dir = await makeFolder();
    const server = new ServerProcess(runtime, spec, dir);
    for (let attempt = 1; ; attempt++) {
      server.port = await freePort({ bus: spec.cluster });
      try {
        await server.#write();
        await server.#launch();
        return server;
      } catch (error) {
        await server.#end();
        if (attempt < STARTS && /Address already in use|bind:/i.test(String(error))) continue;
        await rm(dir, { recursive: true, force: true });
        throw error;
      }
    }
  }

  /**
   * How to reach it with `resp.mjs`, with all rights.
   *
   * @param {{ timeout?: number }} [options]
   * @returns {import('./resp.mjs').RespTarget}
   */
  target({ timeout } = {}) {
    const { tls, users } = this.#runtime;
    return { host: this.host, port: this.port, timeout, ...(tls && { tls: { ca: tls.ca } }), ...users?.admin };
  }

  /**
   * One command, as the administrator, on a connection of its own; error replies are rejections.
   *
   * @param {...(string | number)} args
   * @returns {Promise<any>}
   */
  command(...args) {
    return command(this.target(), args);
  }

  /**
   * The fields of one section of INFO.
   *
   * @param {string} section
   * @returns {Promise<Record<string, string>>}
   */
  async info(section) {
    return parseInfo(await this.command('INFO', section));
  }

  /** A crash: SIGKILL. What was not persisted is lost. */
  async kill() {
    if (this.state === 'dead') return;
    this.#signal('SIGKILL');
    await this.#end();
  }

  /** A hang: SIGSTOP. Connections stay open and nothing is answered. */
  freeze() {
    this.#signal('SIGSTOP');
    this.state = 'frozen';
  }

  /** The end of a hang; what the server's sockets hold is executed now. */
  resume() {
    this.#signal('SIGCONT');
    this.state = 'running';
  }

  /**
   * Starts it again on the same port, after `kill` or instead of it.
   *
   * @param {{ data?: 'keep' | 'wipe', loading?: boolean }} [options] data: 'keep' (default) loads what it had persisted,
   *   as after a crash; 'wipe' comes back empty; a cluster node keeps its place in the cluster in both cases.
   *   loading: true returns as soon as it listens, even while it still answers LOADING
   */
  async restart({ data = 'keep', loading = false } = {}) {
    await this.kill();
    if (data === 'wipe') {
      for (const name of ['dump.rdb', 'appendonlydir']) {
        await rm(path.join(this.dir, name), { recursive: true, force: true });
      }
    }
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#launch(loading);
      } catch (error) {
        await this.#end();
        if (attempt >= STARTS || !/Address already in use|bind:/i.test(String(error))) throw error;
      }
    }
  }

  /** The end of it, and of its folder. */
  async stop() {
    await this.kill();
    await rm(this.dir, { recursive: true, force: true });
  }

  /** The last lines of its log, for messages. */
  async log(lines = 15) {
    const text = await readFile(path.join(this.dir, 'server.log'), 'utf8').catch(() => '');
    return text.trimEnd().split('\n').slice(-lines).join('\n');
  }

  get #configFile() {
    return path.join(this.dir, 'server.conf');
  }

  async #write() {
    const lines = await this.#spec.config({ dir: this.dir, port: this.port });
    await writeFile(this.#configFile, lines.join('\n') + '\n', { mode: 0o600 });
  }

  async #launch(loading = false) {
    const { binary, tie } = this.#runtime;
    // A file, not a pipe: a busy runner would not read a pipe, and the server would stop at the full one.
    const log = openSync(path.join(this.dir, 'server.log'), 'w');
    const args = [this.#configFile, ...(this.#spec.kind === 'sentinel' ? ['--sentinel'] : [])];
    const env = { ...process.env, ...binary.env };
    const child = spawnTied(tie, binary.path, args, { env, cwd: this.dir, output: log });
    closeSync(log);
    this.#child = child;
    child.on('error', () => {});
    // It may also end on its own: SHUTDOWN, the kernel's memory killer.
    child.once('exit', () => {
      if (this.#child === child) this.state = 'dead';
    });
    this.pid = await until(`${this.id} to answer on ${this.address}`, () => this.#answeringPid(loading), {
      timeout: 15_000,
    });
    this.state = 'running';
  }

  /**
   * Its pid as it says itself; PONG alone would not tell it from a stranger's server on the same port.
   *
   * @param {boolean} loading whether LOADING is good enough
   */
  async #answeringPid(loading) {
    if (!this.#child || this.#child.exitCode !== null || this.#child.signalCode !== null || !this.#child.pid) {
      throw new GiveUp(new Error(`${this.id} did not start on ${this.address}:\n${await this.log()}`));
    }
    const client = await connect(this.target({ timeout: 500 }));
    try {
      if (!loading) await client.command('PING');
      const info = parseInfo(await client.command('INFO', 'server'));
      return info.config_file === this.#configFile && Number(info.process_id);
    } finally {
      client.close();
    }
  }

  /** @param {NodeJS.Signals} signal */
  #signal(signal) {
    if (this.state === 'dead') throw new Error(`${this.id} (${this.address}) does not run, so it gets no ${signal}`);
    process.kill(this.pid, signal);
  }

  /** Waits until nothing of it is left; harmless when nothing is. */
  async #end() {
    const child = this.#child;
    this.#child = undefined;
    this.state = 'dead';
    this.pid = 0;
    if (!child?.pid || child.exitCode !== null || child.signalCode !== null) return;
    child.ref();
    const exited = once(child, 'exit');
    // The guard kills the program when its pipe ends; without a guard the child is the program.
    if (child.stdin) child.stdin.end();
    else child.kill('SIGKILL');
    await exited;
  }
}
