// @ts-check
import { readFile } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import path from 'node:path';
import { build } from 'esbuild';

/** @typedef {Record<string, string | { default: string }>} Exports */

/**
 * Follows the imports of each entry: what a bundler finds without running anything has to be installed. Only an optional peer of
 * a subpath's own may be missing, and only for who does not use that subpath.
 *
 * @param {string} library
 * @returns {Promise<string[]>} problems
 */
export async function checkImports(library) {
  const pkg = JSON.parse(await readFile(path.join(library, 'package.json'), 'utf8'));
  const optional = Object.keys(pkg.peerDependenciesMeta ?? {}).filter(
    (name) => pkg.peerDependenciesMeta[name].optional,
  );
  const peers = Object.keys(pkg.peerDependencies ?? {});
  const declared = [...Object.keys(pkg.dependencies ?? {}), ...peers];
  const required = declared.filter((name) => !optional.includes(name));
  const found = [];
  for (const [entry, target] of Object.entries(/** @type {Exports} */ (pkg.exports))) {
    if (typeof target === 'string') continue;
    const allowed = entry === '.' ? required : declared;
    const packages = await staticImports(path.join(library, target.default));
    const wrong = packages.filter((name) => !allowed.includes(name) && !isBuiltin(name));
    found.push(...wrong.map((name) => `the entry '${entry}' imports ${name}, which an application need not have`));
  }
  return found;
}

/**
 * Names of the packages that a module and those it imports load by `import` statements.
 *
 * @param {string} file
 * @returns {Promise<string[]>}
 */
async function staticImports(file) {
  const { metafile } = await build({
    entryPoints: [file],
    bundle: true,
    format: 'esm',
    platform: 'node',
    packages: 'external',
    metafile: true,
    write: false,
    logLevel: 'error',
  });
  const imports = Object.values(metafile.inputs).flatMap(({ imports: list }) => list);
  const external = imports.filter((each) => each.external && each.kind === 'import-statement');
  return [...new Set(external.map((each) => packageOf(each.path)))];
}

/** @param {string} specifier */
function packageOf(specifier) {
  if (isBuiltin(specifier)) return specifier;
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}
