// @ts-check
import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { npm } from './npm.mjs';

const run = promisify(execFile);
const ALLOWED = /^(dist\/.+\.(js|d\.ts)|package\.json|README\.md|LICENSE|CHANGELOG\.md|grafana\/.+\.(json|yml))$/;
const EXPECTED = [
  'dist/index.js',
  'dist/index.d.ts',
  'dist/doctor/cli/main.js',
  'grafana/dashboard.json',
  'package.json',
  'README.md',
  'LICENSE',
];

/**
 * Packs the library as it would be published.
 *
 * @param {string} library
 * @param {string} folder where the tarball goes
 * @returns {Promise<{ tarball: string, problems: string[] }>}
 */
export async function pack(library, folder) {
  const output = await npm(['pack', '--json', '--pack-destination', folder], library);
  const [packed] = /** @type {{ filename: string, size: number, files: { path: string }[] }[]} */ (JSON.parse(output));
  if (!packed) throw new Error('npm pack made nothing');
  const files = packed.files.map((file) => file.path);
  const superfluous = files.filter((file) => !ALLOWED.test(file) || /\.spec\./.test(file));
  const missing = EXPECTED.filter((file) => !files.includes(file));
  console.log(`${packed.filename}: ${files.length} files, ${Math.round(packed.size / 1024)} KiB`);
  return {
    tarball: path.join(folder, packed.filename),
    problems: [
      ...superfluous.map((file) => `the package contains ${file}`),
      ...missing.map((file) => `the package lacks ${file}`),
    ],
  };
}

/**
 * @param {string} library
 * @returns {Promise<string[]>} problems
 */
export async function lintPackage(library) {
  const pkg = JSON.parse(await readFile(path.join(library, 'package.json'), 'utf8'));
  const { messages } = await publint({ pkgDir: library, strict: true });
  return messages.map((message) => `publint: ${formatMessage(message, pkg, { color: false })}`);
}

/**
 * Whether the types of every entry can be found, however the consumer resolves modules. A CommonJS consumer gets ES modules, which
 * `require()` of the supported Node.js versions loads.
 *
 * @param {string} tarball
 * @returns {Promise<string[]>} problems
 */
export async function checkTypes(tarball) {
  const manifest = createRequire(import.meta.url).resolve('@arethetypeswrong/cli/package.json');
  const program = path.join(path.dirname(manifest), 'dist/index.js');
  const args = [
    program,
    tarball,
    '--ignore-rules',
    'cjs-resolves-to-esm',
    '--no-color',
    '--no-emoji',
    '--format',
    'ascii',
  ];
  try {
    await run(process.execPath, args);
    return [];
  } catch (error) {
    const { stdout = '', stderr = '' } = /** @type {{ stdout?: string, stderr?: string }} */ (error);
    return [`attw:\n${stdout}${stderr}`];
  }
}
