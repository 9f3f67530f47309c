// @ts-check
// Writes docs/api/: every public export with its TSDoc and its declaration as the compiler writes it into the package, so that what
// is read here is what an editor shows.
import path from 'node:path';
import ts from 'typescript';
import { exportsOf, SOURCES } from './program.mjs';

/** @typedef {{ name: string, text: string }} Entry */
/** @typedef {ReturnType<typeof import('./program.mjs').libraryProgram>} Library */

const PACKAGE = 'nestjs-redis-patterns';
const NOTE = 'Written by `npm run docs` from the sources; do not edit.';

/**
 * @param {Library} library
 * @returns {Map<string, string>} text by path, from docs/
 */
export function renderApi(library) {
  const pages = new Map(
    library.entries.flatMap((entry) => [...pagesOf(entry, library)]).toSorted(([a], [b]) => a.localeCompare(b)),
  );
  const texts = [...pages].map(
    ([name, entries]) => /** @type {const} */ ([`api/${name}.md`, renderPage(name, entries)]),
  );
  return new Map([['api/README.md', renderIndex(pages)], ...texts]);
}

/**
 * The exports of the main entry by folder, those of a subpath on one page.
 *
 * @param {{ name: string, file: string }} entry
 * @param {Library} library
 * @returns {Map<string, Entry[]>}
 */
function pagesOf({ name, file }, { program, checker }) {
  const declarations = declarationsOf(program);
  /** @type {Map<string, Entry[]>} */
  const pages = new Map();
  for (const symbol of exportsOf(file, program, checker)) {
    const source = symbol.declarations?.[0]?.getSourceFile();
    if (!source) continue;
    const [folder = ''] = path.relative(SOURCES, source.fileName).split(path.sep);
    const page = name === PACKAGE ? folder : name.slice(PACKAGE.length + 1);
    const text = renderSymbol(symbol, declarations(source), checker);
    pages.set(page, [...(pages.get(page) ?? []), { name: symbol.name, text }]);
  }
  for (const entries of pages.values()) entries.sort((a, b) => a.name.localeCompare(b.name));
  return pages;
}

/**
 * The declaration file of a source, parsed.
 *
 * @param {ts.Program} program
 */
function declarationsOf(program) {
  /** @type {Map<ts.SourceFile, ts.SourceFile>} */
  const known = new Map();
  return (/** @type {ts.SourceFile} */ source) => {
    const found = known.get(source);
    if (found) return found;
    let text = '';
    program.emit(source, (_, written) => (text = written), undefined, true);
    const parsed = ts.createSourceFile(source.fileName.replace(/\.ts$/, '.d.ts'), text, ts.ScriptTarget.Latest, true);
    known.set(source, parsed);
    return parsed;
  };
}

/**
 * @param {ts.Symbol} symbol
 * @param {ts.SourceFile} declarations
 * @param {ts.TypeChecker} checker
 */
function renderSymbol(symbol, declarations, checker) {
  const code = declarations.statements.filter((statement) => namesOf(statement).includes(symbol.name)).map(publicText);
  const parts = [`## ${symbol.name}`, prose(symbol, checker), `\`\`\`ts\n${code.join('\n')}\n\`\`\``];
  return [...parts, ...tags(symbol, checker)].filter((part) => part !== '').join('\n\n');
}

/**
 * @param {ts.Statement} statement
 * @returns {string[]}
 */
function namesOf(statement) {
  if (ts.isVariableStatement(statement))
    return statement.declarationList.declarations.map(({ name }) => name.getText());
  const { name } = /** @type {{ name?: ts.Identifier }} */ (/** @type {unknown} */ (statement));
  return name ? [name.text] : [];
}

/**
 * A declaration without its own comment, which stands above it, and without what is private.
 *
 * @param {ts.Statement} statement
 */
function publicText(statement) {
  const text = statement.getText();
  if (!ts.isClassDeclaration(statement)) return withoutKeywords(text);
  const start = statement.getStart();
  const hidden = statement.members.filter(isHidden).toReversed();
  return withoutKeywords(
    hidden.reduce(
      (rest, member) => rest.slice(0, member.getFullStart() - start) + rest.slice(member.getEnd() - start),
      text,
    ),
  );
}

/** @param {ts.ClassElement} member */
function isHidden(member) {
  if (member.name && ts.isPrivateIdentifier(member.name)) return true;
  const modifiers = ts.canHaveModifiers(member) ? (ts.getModifiers(member) ?? []) : [];
  return modifiers.some(({ kind }) => kind === ts.SyntaxKind.PrivateKeyword || kind === ts.SyntaxKind.ProtectedKeyword);
}

/** @param {string} text */
function withoutKeywords(text) {
  return text.replace(/^(export )?(declare )?/, '').replace(/^ {4,}/gm, (indent) => ' '.repeat(indent.length / 2));
}

/**
 * @param {ts.Symbol} symbol
 * @param {ts.TypeChecker} checker
 */
function prose(symbol, checker) {
  return plain(ts.displayPartsToString(symbol.getDocumentationComment(checker))).trim();
}

/**
 * Parameters, what is returned and thrown, and examples.
 *
 * @param {ts.Symbol} symbol
 * @param {ts.TypeChecker} checker
 */
function tags(symbol, checker) {
  const found = symbol
    .getJsDocTags(checker)
    .map(({ name, text }) => ({ name, text: plain(ts.displayPartsToString(text)).trim() }));
  const lines = found.flatMap(({ name, text }) => {
    const body = text.replaceAll('\n', ' ');
    if (name === 'param') return [`- ${body.replace(/^(\S+)\s*-?\s*/, '`$1`: ')}`];
    if (name === 'returns') return [`- returns ${body}`];
    return name === 'throws' ? [`- throws ${body}`] : [];
  });
  return [...(lines.length > 0 ? [lines.join('\n')] : []), ...examples(symbol)];
}

/**
 * From the comments as they stand: TypeScript takes a decorator at the beginning of a line for the next tag.
 *
 * @param {ts.Symbol} symbol
 */
function examples(symbol) {
  const comments = (symbol.declarations ?? []).flatMap((each) => ts.getJSDocCommentsAndTags(each)).filter(ts.isJSDoc);
  return [...new Set(comments)].flatMap((comment) => {
    const text = comment
      .getText()
      .replace(/\*\/$/, '')
      .replace(/^[ \t]*\* ?/gm, '');
    const found = text.matchAll(/^@example *\n?((?:^```.*?^```\n?|(?!@|```)[^\n]*\n)+)/gms);
    return [...found].map(([, example = '']) => plain(example).trim());
  });
}

/** @param {string} text */
function plain(text) {
  return text.replace(/\{@link ([\w.#]+) ?\}/g, '`$1`');
}

/**
 * @param {string} page
 * @param {readonly Entry[]} entries
 */
function renderPage(page, entries) {
  return [`# API: ${page}`, NOTE, ...entries.map(({ text }) => text)].join('\n\n') + '\n';
}

/** @param {ReadonlyMap<string, readonly Entry[]>} pages */
function renderIndex(pages) {
  const lines = [...pages].map(([page, entries]) => {
    const names = entries.map(({ name }) => `[\`${name}\`](${page}.md#${name.toLowerCase()})`);
    return `## [${page}](${page}.md)\n\n${names.join(', ')}`;
  });
  return ['# API reference', NOTE, ...lines].join('\n\n') + '\n';
}
