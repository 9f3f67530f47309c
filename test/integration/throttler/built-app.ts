import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { transform, type Options } from '@swc/core';
import jestConfig from '../../../jest.config.js';
import type { RedisPatternsOptions } from '../../../libs/redis-patterns/src/index.js';
import { ensureBuilt } from '../../../scripts/bootstrap/build.mjs';
import { startProgram } from '../../../scripts/bootstrap/processes.mjs';
import { Program } from '../../support/child-process.js';
import type { AppKind } from './app/main.js';

const SOURCES = fileURLToPath(new URL('./app/', import.meta.url));
// Below the root, so that Node.js finds the library as an installed package: its `exports`, and what is built.
const BUILT = fileURLToPath(new URL('../../../dist/apps/throttler/', import.meta.url));

/** Builds the library and the programs, which plain Node.js then runs. */
export async function buildPrograms(): Promise<void> {
  await ensureBuilt(['redis-patterns']);
  const [, options] = jestConfig.transform['^.+\\.ts$'] as [string, Options];
  await mkdir(BUILT, { recursive: true });
  for (const name of ['main', 'misuse']) {
    const filename = path.join(SOURCES, `${name}.ts`);
    const { code } = await transform(await readFile(filename, 'utf8'), { ...options, filename, sourceMaps: 'inline' });
    await writeFile(path.join(BUILT, `${name}.js`), code);
  }
}

/** Starts what {@link buildPrograms} has built. */
export function startBuilt(name: 'main' | 'misuse', setup: object): Program {
  const env = { ...process.env, NODE_OPTIONS: '', SETUP: JSON.stringify(setup) };
  return new Program(startProgram(path.join(BUILT, `${name}.js`), { env, output: 'pipe' }));
}

export interface Answer {
  readonly status: number;
  readonly body: string;
  /** What @nestjs/throttler sets: `X-RateLimit-*` and `Retry-After*`. */
  readonly headers: Readonly<Record<string, number>>;
}

/** The application in a process of its own. */
export class BuiltApp {
  private constructor(
    readonly kind: AppKind,
    private readonly program: Program,
    private readonly origin: string,
  ) {}

  static async start(kind: AppKind, redis?: RedisPatternsOptions): Promise<BuiltApp> {
    const program = startBuilt('main', { kind, redis });
    const { port } = await program.next('ready', { timeout: 60_000 });
    return new BuiltApp(kind, program, `http://127.0.0.1:${String(port)}`);
  }

  async get(url: string, headers: Record<string, string> = {}): Promise<Answer> {
    const response = await fetch(this.origin + url, { headers });
    const body = await response.text();
    const own = [...response.headers].filter(([name]) => /^(x-ratelimit|retry-after)/.test(name));
    return {
      status: response.status,
      body,
      headers: Object.fromEntries(own.map(([name, text]) => [name, Number(text)])),
    };
  }

  /** Politely, and with what it printed: nothing, if all went well. */
  async stop(): Promise<string> {
    await this.program.kill('SIGTERM');
    return this.program.output;
  }
}
