// @ts-check
// Looks at the package as those who install it get it: what is in the tarball, whether its types and entries are found, what it
// imports, and whether a fresh application of either kind boots with it and does what the examples say, on a real Redis.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ensureBuilt } from '../../scripts/bootstrap/build.mjs';
import { ROOT } from '../../scripts/bootstrap/log.mjs';
import { startTopology } from '../../scripts/servers/index.mjs';
import { checkImports } from './bundle.mjs';
import { checkConsumer, CONSUMERS, unusedDecorators } from './consumers.mjs';
import { checkTypes, lintPackage, pack } from './tarball.mjs';

const library = path.join(ROOT, 'libs/redis-patterns');

await ensureBuilt(['redis-patterns']);
const folder = await mkdtemp(path.join(tmpdir(), 'redis-patterns-package-'));
const topology = await startTopology('standalone');
try {
  const { tarball, problems: content } = await pack(library, folder);
  const place = { tarball, folder, redisUrl: topology.url };
  const found = await Promise.all([
    ...CONSUMERS.map((name) => checkConsumer(name, place)),
    checkTypes(tarball),
    lintPackage(library),
    checkImports(library),
    unusedDecorators(library),
  ]);
  const problems = [...content, ...found.flat()];
  for (const problem of problems) console.error(`\n${problem}`);
  console.log(problems.length === 0 ? 'The package is right' : `\n${problems.length} problems`);
  process.exitCode = problems.length === 0 ? 0 : 1;
} finally {
  await topology.stop();
  await rm(folder, { recursive: true, force: true });
}
