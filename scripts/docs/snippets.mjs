// @ts-check
// Compiles the TypeScript of all pages against the sources of the library, in one program with the settings of the repository.
//
// A page shows what matters, so this adds what a reader adds: the imports of names that the library, NestJS, an earlier block of
// the page (if exported there) or its prelude (`preludes/<page>.ts`, for the reader's own classes and functions) has. `…` stands for
// what is left out. A block that begins with `// src/name.ts` is that file, and sees the others of the page as they are by
// then. Members without a class and statements without a function get one around them.
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';
import { ROOT } from '../bootstrap/log.mjs';
import { fileOf, pages, snippetsOf } from './pages.mjs';
import { compilerSetup } from './program.mjs';
import { exportedNames, parse, partsOf, wrap } from './wrap.mjs';

/** @typedef {import('./pages.mjs').Snippet} Snippet */
/** @typedef {{ file: string, snippet: Snippet | undefined, text: string }} Unit without `snippet`: only there for others */
/** @typedef {import('./wrap.mjs').Names} Names */

const FOLDER = path.join(ROOT, 'scripts/docs/.snippets');
const FRAMEWORK = [
  'reflect-metadata',
  '@nestjs/common',
  '@nestjs/core',
  '@nestjs/throttler',
  '@nestjs/microservices',
  '@nestjs/terminus',
  '@nestjs/testing',
  'rxjs',
];
/** @returns {{ snippets: number, problems: string[] }} each problem as `page:line: message` */
export function checkSnippets() {
  const setup = compilerSetup();
  const options = {
    ...setup.options,
    noEmit: true,
    emitDecoratorMetadata: false,
    isolatedModules: false,
    // What hangs on `this` has no type in a block without its class.
    noImplicitAny: false,
  };
  /** @type {Map<string, string>} */
  const texts = new Map();
  const host = hostWith(texts, options);
  const names = exportsOf([...setup.entries.map(({ name }) => name), ...FRAMEWORK], options, texts, host);
  const units = pages().flatMap((page) => unitsOf(page, names));
  for (const { file, text } of units) texts.set(file, text);
  const program = ts.createProgram([...texts.keys()], options, host);
  const problems = units.flatMap(({ file, snippet }) => {
    if (!snippet) return [];
    const source = program.getSourceFile(file);
    if (!source) throw new Error(`${file} is not part of the program`);
    const found = [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)];
    return found.map((diagnostic) => describe(diagnostic, source, snippet));
  });
  return { snippets: units.filter(({ snippet }) => snippet).length, problems };
}

/**
 * @param {readonly string[]} modules the first one that has a name wins
 * @param {ts.CompilerOptions} options
 * @param {Map<string, string>} texts
 * @param {ts.CompilerHost} host
 * @returns {Map<string, string>}
 */
function exportsOf(modules, options, texts, host) {
  const file = path.join(FOLDER, 'modules.ts');
  texts.set(file, modules.map((name, index) => `import * as m${index} from '${name}';`).join('\n'));
  const program = ts.createProgram([file], options, host);
  const checker = program.getTypeChecker();
  const source = program.getSourceFile(file);
  /** @type {Map<string, string>} */
  const names = new Map();
  for (const statement of source?.statements ?? []) {
    if (!ts.isImportDeclaration(statement) || !ts.isStringLiteral(statement.moduleSpecifier)) continue;
    const symbol = checker.getSymbolAtLocation(statement.moduleSpecifier);
    for (const { name } of symbol ? checker.getExportsOfModule(symbol) : []) {
      if (!names.has(name)) names.set(name, statement.moduleSpecifier.text);
    }
  }
  return names;
}

/**
 * @param {string} page
 * @param {Names} libraryNames
 * @returns {Unit[]}
 */
function unitsOf(page, libraryNames) {
  const slug = page.replace(/\.md$/, '').replaceAll('/', '-');
  const names = new Map(libraryNames);
  const prelude = path.join(ROOT, 'scripts/docs/preludes', `${slug.replace(/^(docs|libs-redis-patterns)-/, '')}.ts`);
  if (existsSync(prelude)) {
    const source = parse(readFileSync(prelude, 'utf8'));
    for (const name of exportedNames(source)) names.set(name, `../preludes/${path.basename(prelude, '.ts')}.js`);
  }
  const snippets = snippetsOf(page).filter(({ language }) => language === 'ts');
  /** @type {Map<string, string>} */
  const files = new Map();
  /** @type {Unit[]} */
  const units = [];
  for (const [index, snippet] of snippets.entries()) {
    const base = `${slug}-${index + 1}`;
    const name = fileOf(snippet);
    if (name === undefined) {
      for (const [number, part] of partsOf(snippet).entries()) {
        const { text, exported } = wrap(part.code, names);
        const own = `${base}-${number + 1}`;
        units.push({ file: path.join(FOLDER, `${own}.ts`), snippet: part, text });
        for (const each of exported) names.set(each, `./${own}.js`);
      }
      continue;
    }
    files.set(name, snippet.code);
    for (const [each, text] of files) {
      units.push({ file: path.join(FOLDER, base, each), snippet: each === name ? snippet : undefined, text });
    }
  }
  return units;
}

/**
 * Parses each file once, for both programs.
 *
 * @param {ReadonlyMap<string, string>} texts files that are not on the disk
 * @param {ts.CompilerOptions} options
 */
function hostWith(texts, options) {
  const host = ts.createCompilerHost(options, true);
  const { fileExists, readFile, directoryExists, getSourceFile } = host;
  /** @type {Map<string, ts.SourceFile | undefined>} */
  const parsed = new Map();
  host.fileExists = (file) => texts.has(file) || fileExists(file);
  host.readFile = (file) => texts.get(file) ?? readFile(file);
  host.directoryExists = (folder) => folder.startsWith(FOLDER) || (directoryExists?.(folder) ?? true);
  host.getSourceFile = (file, target, ...rest) => {
    if (!parsed.has(file)) parsed.set(file, getSourceFile(file, target, ...rest));
    return parsed.get(file);
  };
  return host;
}

/**
 * @param {ts.Diagnostic} diagnostic
 * @param {ts.SourceFile} source
 * @param {Snippet} snippet
 */
function describe({ start = 0, messageText }, source, { page, line }) {
  const at = line + source.getLineAndCharacterOfPosition(start).line;
  return `${page}:${at}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`;
}
