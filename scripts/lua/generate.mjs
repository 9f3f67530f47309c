// Writes `<pattern>/scripts.generated.ts` from `<pattern>/lua/*.lua`. With --check it writes nothing and fails when a file
// is not what it would write. The header of a script is its interface; see CONTRIBUTING.md for its form.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { renderModule } from './render.mjs';
import { parseScript } from './parse.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
const source = join(root, 'libs/redis-patterns/src');
const check = process.argv.includes('--check');

const stale = [];
for (const entry of readdirSync(source, { withFileTypes: true })) {
  const folder = join(source, entry.name, 'lua');
  if (!entry.isDirectory() || !existsSync(folder)) continue;
  const files = readdirSync(folder)
    .filter((file) => file.endsWith('.lua'))
    .sort();
  const scripts = files.map((file) => parseScript(entry.name, join(folder, file)));
  const target = join(source, entry.name, 'scripts.generated.ts');
  const text = renderModule(scripts);
  if (existsSync(target) && readFileSync(target, 'utf8') === text) continue;
  stale.push(relative(root, target));
  if (!check) writeFileSync(target, text);
}

if (check && stale.length > 0) {
  console.error(`Not up to date, run \`npm run lua\`:\n  ${stale.join('\n  ')}`);
  process.exit(1);
}
console.log(stale.length > 0 ? `Wrote ${stale.join(', ')}` : 'Generated scripts are up to date');
