// @ts-check
import { createHash } from 'node:crypto';
import { access, mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { ExpectedError, ROOT, withHeartbeat } from './log.mjs';
import { runTool } from './processes.mjs';

/** In the order in which they depend on each other. */
const PROJECTS = {
  'redis-patterns': {
    sources: ['libs/redis-patterns/src', 'libs/redis-patterns/package.json', 'libs/redis-patterns/tsconfig.lib.json'],
    output: 'libs/redis-patterns/dist/index.js',
  },
  demo: {
    sources: ['libs/redis-patterns/src', 'apps/demo/src', 'apps/demo/tsconfig.app.json'],
    output: 'dist/apps/demo/main.js',
  },
};
const SHARED = ['tsconfig.json', 'nest-cli.json', 'package-lock.json'];

/** @typedef {keyof typeof PROJECTS} Project */

/**
 * Builds what is not built or whose sources have changed since.
 *
 * @param {readonly Project[]} [projects]
 */
export async function ensureBuilt(projects = ['redis-patterns', 'demo']) {
  for (const project of projects) {
    const { sources, output } = PROJECTS[project];
    const hash = await hashOf([...SHARED, ...sources]);
    const stamp = path.join(ROOT, 'dist', `.${project}.sources`);
    const built = await access(path.join(ROOT, output)).then(
      () => true,
      () => false,
    );
    if (built && (await readFile(stamp, 'utf8').catch(() => '')) === hash) continue;
    const nest = path.join(ROOT, 'node_modules/@nestjs/cli/bin/nest.js');
    const code = await withHeartbeat('build', `nest build ${project}`, () =>
      runTool(process.execPath, [nest, 'build', project]),
    );
    if (code !== 0) throw new ExpectedError(`nest build ${project} failed; its messages stand above.`);
    await mkdir(path.dirname(stamp), { recursive: true });
    await writeFile(stamp, hash);
  }
}

/** @param {readonly string[]} places files and folders */
async function hashOf(places) {
  const hash = createHash('sha256');
  for (const place of places) {
    for (const file of await filesBelow(path.join(ROOT, place))) {
      hash.update(`${path.relative(ROOT, file)}\0`).update(await readFile(file));
    }
  }
  return hash.digest('hex');
}

/**
 * @param {string} place
 * @returns {Promise<string[]>}
 */
async function filesBelow(place) {
  const entries = await readdir(place, { withFileTypes: true, recursive: true }).catch(() => undefined);
  if (!entries) return [place];
  const files = entries.filter((entry) => entry.isFile() && !entry.name.endsWith('.spec.ts'));
  return files.map((entry) => path.join(entry.parentPath, entry.name)).toSorted();
}
