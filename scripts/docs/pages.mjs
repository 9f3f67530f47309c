// @ts-check
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { ROOT } from '../bootstrap/log.mjs';

/**
 * @typedef {object} Snippet
 * @property {string} page path of the page, from the root of the repository
 * @property {number} line line of the page on which the code begins, from 1
 * @property {string} language
 * @property {string} code
 */

/** Every page whose code has to be right, without those that a program writes. */
export function pages() {
  const docs = readdirSync(path.join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => path.posix.join('docs', file.replaceAll(path.sep, '/')))
    .filter((file) => !isGenerated(file));
  return ['README.md', 'libs/redis-patterns/README.md', ...docs.toSorted()];
}

/** @param {string} page */
export function isGenerated(page) {
  return page === 'docs/configuration.md' || page.startsWith('docs/api/');
}

/**
 * The blocks of code of one page, in order.
 *
 * @param {string} page
 * @returns {Snippet[]}
 */
export function snippetsOf(page) {
  const text = readFileSync(path.join(ROOT, page), 'utf8');
  return [...text.matchAll(/^```(\w+)[^\n]*\n(.*?)^```/gms)].map(
    ({ index, 0: block, 1: language = '', 2: code = '' }) => {
      const opening = block.slice(0, block.indexOf('\n') + 1);
      const line = text.slice(0, index + opening.length).split('\n').length;
      return { page, line, language, code };
    },
  );
}

/**
 * The file that a block is, when its first line says so: `// src/main.ts`.
 *
 * @param {Snippet} snippet
 * @returns {string | undefined}
 */
export function fileOf({ code }) {
  return /^\/\/ ((?:[\w.-]+\/)*[\w.-]+\.ts)\n/.exec(code)?.[1];
}
