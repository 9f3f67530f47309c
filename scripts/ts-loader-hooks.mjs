// @ts-check
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { transform } from '@swc/core';
import jestConfig from '../jest.config.js';

const PACKAGE = 'nestjs-redis-patterns';
const SOURCES = new URL('../libs/redis-patterns/src/', import.meta.url);
// One set of compiler options for specs and for the programs that they start.
const [, swcOptions] = /** @type {[string, import('@swc/core').Options]} */ (jestConfig.transform['^.+\\.ts$']);

/** @param {string} specifier */
function librarySource(specifier) {
  if (specifier === PACKAGE) return new URL('index.ts', SOURCES);
  const subpath = specifier.slice(PACKAGE.length + 1);
  return [new URL(`${subpath}/index.ts`, SOURCES), new URL(`${subpath}.ts`, SOURCES)].find((url) => existsSync(url));
}

/** @type {import('node:module').ResolveHook} */
export async function resolve(specifier, context, next) {
  if (specifier === PACKAGE || specifier.startsWith(`${PACKAGE}/`)) {
    const url = librarySource(specifier);
    if (url) return { url: url.href, shortCircuit: true };
  }
  if (/^\.{1,2}\/.*\.js$/.test(specifier) && context.parentURL?.startsWith('file:')) {
    const url = new URL(specifier.replace(/\.js$/, '.ts'), context.parentURL);
    if (existsSync(url)) return { url: url.href, shortCircuit: true };
  }
  return next(specifier, context);
}

/** @type {import('node:module').LoadHook} */
export async function load(url, context, next) {
  if (!url.startsWith('file:') || !new URL(url).pathname.endsWith('.ts')) return next(url, context);
  const filename = fileURLToPath(url);
  const { code } = await transform(await readFile(filename, 'utf8'), { ...swcOptions, filename, sourceMaps: 'inline' });
  return { format: 'module', source: code, shortCircuit: true };
}
