// @ts-check
import { execFile } from 'node:child_process';
import { cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { npm } from './npm.mjs';

const run = promisify(execFile);
const HERE = fileURLToPath(new URL('.', import.meta.url));
const EXAMPLES = path.resolve(HERE, '../../examples');
const TSC = createRequire(import.meta.url).resolve('typescript/bin/tsc');
const TSCONFIG = {
  compilerOptions: {
    module: 'nodenext',
    target: 'ES2022',
    lib: ['ES2023', 'ESNext.Disposable'],
    types: ['node'],
    strict: true,
    strictPropertyInitialization: false,
    isolatedModules: true,
    experimentalDecorators: true,
    emitDecoratorMetadata: true,
    useDefineForClassFields: false,
    skipLibCheck: true,
    rootDir: 'src',
    outDir: 'dist',
  },
  include: ['src'],
};

export const CONSUMERS = ['nest-12-esm', 'nest-11-cjs'];

/**
 * Makes an application that has nothing but the packed library and its own dependencies, compiles the examples in it and runs each.
 *
 * @param {string} name a folder in consumers/
 * @param {{ tarball: string, folder: string, redisUrl: string }} place
 * @returns {Promise<string[]>} problems
 */
export async function checkConsumer(name, { tarball, folder, redisUrl }) {
  const app = path.join(folder, name);
  await mkdir(app, { recursive: true });
  await cp(path.join(HERE, 'consumers', name), app, { recursive: true });
  await cp(EXAMPLES, path.join(app, 'src'), { recursive: true, filter: (file) => !file.endsWith('.md') });
  await writeFile(path.join(app, 'tsconfig.json'), JSON.stringify(TSCONFIG));
  await npm(['install', '--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error', tarball], app);
  const compiled = await attempt(TSC, ['-p', '.'], app);
  if (compiled.problem !== undefined) return [`${name} does not compile:\n${compiled.problem}`];
  const programs = (await readdir(path.join(app, 'dist'))).filter((file) => file.endsWith('.js')).toSorted();
  const problems = [];
  for (const program of programs) {
    const began = performance.now();
    const { problem } = await attempt(path.join('dist', program), [], app, redisUrl);
    const seconds = ((performance.now() - began) / 1000).toFixed(1);
    console.log(`${name}: ${program} ${problem === undefined ? 'ok' : 'FAILED'} in ${seconds} s`);
    if (problem !== undefined) problems.push(`${name}: ${program}\n${problem}`);
  }
  return problems;
}

/**
 * @param {string} program
 * @param {readonly string[]} args
 * @param {string} cwd
 * @param {string} [redisUrl]
 */
async function attempt(program, args, cwd, redisUrl) {
  const env = { ...process.env, NODE_OPTIONS: '', ...(redisUrl !== undefined && { REDIS_URL: redisUrl }) };
  try {
    const { stderr } = await run(process.execPath, [program, ...args], { cwd, env, timeout: 60_000 });
    // A warning of Node.js or of the library would meet every user of this kind of application.
    return { problem: stderr === '' ? undefined : stderr };
  } catch (error) {
    const { stdout = '', stderr = '' } = /** @type {{ stdout?: string, stderr?: string }} */ (error);
    return { problem: `${String(error)}\n${stdout}${stderr}` };
  }
}

/**
 * Decorators that no example uses.
 *
 * @param {string} library
 * @returns {Promise<string[]>} problems
 */
export async function unusedDecorators(library) {
  const { exports } = JSON.parse(await readFile(path.join(library, 'package.json'), 'utf8'));
  const entries = Object.values(/** @type {Record<string, string | { default: string }>} */ (exports));
  const modules = await Promise.all(
    entries.flatMap((entry) => (typeof entry === 'string' ? [] : [import(path.join(library, entry.default))])),
  );
  const decorators = modules.flatMap((module) => Object.keys(module).filter((name) => isDecorator(name, module[name])));
  const folders = [EXAMPLES, ...CONSUMERS.map((name) => path.join(HERE, 'consumers', name, 'src'))];
  const texts = await Promise.all(folders.map(sourcesIn));
  const source = texts.join('\n');
  const unused = [...new Set(decorators)].filter((name) => !source.includes(`@${name}(`));
  return unused.map(
    (name) => `no program in examples/ uses @${name}: add it to one, so that the packed library is tried with it`,
  );
}

/**
 * By the custom of NestJS: functions with a capital letter that are no classes.
 *
 * @param {string} name
 * @param {unknown} value
 */
function isDecorator(name, value) {
  const isClass = typeof value === 'function' && /^class\b/.test(Function.prototype.toString.call(value));
  return typeof value === 'function' && !isClass && /^[A-Z]/.test(name);
}

/** @param {string} folder */
async function sourcesIn(folder) {
  const files = (await readdir(folder).catch(() => [])).filter((file) => file.endsWith('.ts'));
  return (await Promise.all(files.map((file) => readFile(path.join(folder, file), 'utf8')))).join('\n');
}
