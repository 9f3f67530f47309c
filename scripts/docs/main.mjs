// @ts-check
// `npm run docs` writes docs/configuration.md and docs/api/; with --check it writes nothing and fails when a file is not what it
// would write, or when the TypeScript of a page does not compile.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { ROOT } from '../bootstrap/log.mjs';
import { renderApi } from './api.mjs';
import { renderConfiguration } from './configuration.mjs';
import { libraryProgram } from './program.mjs';
import { checkSnippets } from './snippets.mjs';

const DOCS = path.join(ROOT, 'docs');
const check = process.argv.includes('--check');

const library = libraryProgram();
const configuration = await renderConfiguration(library);
const wanted = new Map([['configuration.md', configuration.text], ...renderApi(library)]);
const present = readdirSync(DOCS, { recursive: true, encoding: 'utf8' }).map((file) => file.replaceAll(path.sep, '/'));
const superfluous = present.filter((file) => file.startsWith('api/') && file.endsWith('.md') && !wanted.has(file));
const stale = [...wanted].filter(([file, text]) => read(file) !== text).map(([file]) => file);

if (!check) {
  for (const file of stale) {
    mkdirSync(path.dirname(path.join(DOCS, file)), { recursive: true });
    writeFileSync(path.join(DOCS, file), wanted.get(file) ?? '');
  }
  for (const file of superfluous) rmSync(path.join(DOCS, file));
}
const { snippets, problems } = checkSnippets();
const outdated = [...stale, ...superfluous];
const all = [...problems, ...configuration.problems];
if (check && outdated.length > 0)
  all.push(`Not up to date, run \`npm run docs\`: ${outdated.map((file) => `docs/${file}`).join(', ')}`);
for (const problem of all) console.error(problem);
const written = outdated.length > 0 && !check ? `wrote ${outdated.join(', ')}` : 'generated pages are up to date';
if (all.length > 0) process.exitCode = 1;
else console.log(`${snippets} snippets compile; ${written}`);

/** @param {string} file */
function read(file) {
  return present.includes(file) ? readFileSync(path.join(DOCS, file), 'utf8') : undefined;
}
