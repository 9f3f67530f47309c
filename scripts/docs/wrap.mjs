// @ts-check
// Makes modules of the blocks of a page.
import ts from 'typescript';

/** @typedef {import('./pages.mjs').Snippet} Snippet */
/** @typedef {ReadonlyMap<string, string>} Names where each known name comes from */

/** What a page leaves out: an object, more members of one, what a function gives, and a body. */
const ELLIPSES = /** @type {const} */ ([
  [/([(,=[:] ?)\{ … \}/g, '$1({} as any)'],
  [/\{ …,/g, '{ ...({} as any),'],
  [/=> …/g, '=> undefined'],
  [/\{ … \}/g, '{ throw new Error(); }'],
]);

/**
 * A block that holds members and statements is taken apart at its empty lines.
 *
 * @param {Snippet} snippet
 * @returns {Snippet[]}
 */
export function partsOf(snippet) {
  const code = ELLIPSES.reduce((text, [pattern, instead]) => text.replaceAll(pattern, instead), snippet.code);
  if (formsOf(code).some(isWellFormed)) return [{ ...snippet, code }];
  let line = snippet.line;
  return code.split('\n\n').map((part) => {
    const own = { ...snippet, code: part, line };
    line += part.split('\n').length + 1;
    return own;
  });
}

/**
 * A block as a module, in a function and in a class.
 *
 * @param {string} code
 */
function formsOf(code) {
  const asStatements = `async function snippet(this: any) { ${code}\n}`;
  const asMembers = `class Snippet { [member: string]: any; ${code}\n}`;
  return parse(code).statements.some(isDeclaration) ? [code, asStatements, asMembers] : [asStatements, code, asMembers];
}

/**
 * Makes a module of a block. What is added before it stands on its first line, so that lines stay what they are.
 *
 * @param {string} code
 * @param {Names} names
 */
export function wrap(code, names) {
  const [text = code] = formsOf(code).filter(isWellFormed);
  const source = parse(text);
  const imports = importsFor(source, names);
  return { text: `${imports}export {}; ${text}`, exported: exportedNames(source) };
}

/** @param {ts.Node} node */
function isDeclaration(node) {
  return (
    ts.isClassDeclaration(node) ||
    ts.isImportDeclaration(node) ||
    ts.isInterfaceDeclaration(node) ||
    (ts.canHaveModifiers(node) &&
      (ts.getModifiers(node) ?? []).some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword))
  );
}

/** @param {string} text */
export function parse(text) {
  return ts.createSourceFile('snippet.ts', text, ts.ScriptTarget.Latest, true);
}

/** @param {string} text */
function isWellFormed(text) {
  const { parseDiagnostics = [] } = /** @type {{ parseDiagnostics?: readonly unknown[] }} */ (
    /** @type {unknown} */ (parse(text))
  );
  return parseDiagnostics.length === 0;
}

/**
 * @param {ts.SourceFile} source
 * @returns {string[]}
 */
export function exportedNames(source) {
  return source.statements.flatMap((statement) => {
    const modifiers = ts.canHaveModifiers(statement) ? (ts.getModifiers(statement) ?? []) : [];
    if (!modifiers.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)) return [];
    if (ts.isVariableStatement(statement))
      return statement.declarationList.declarations.map(({ name }) => name.getText());
    const { name } = /** @type {{ name?: ts.Identifier }} */ (/** @type {unknown} */ (statement));
    return name ? [name.text] : [];
  });
}

/**
 * Imports of what the module uses and does not declare.
 *
 * @param {ts.SourceFile} source
 * @param {Names} names
 */
function importsFor(source, names) {
  /** @type {Set<string>} */
  const declared = new Set();
  /** @type {Set<string>} */
  const used = new Set();
  /** @param {ts.Node} node */
  const visit = (node) => {
    if (ts.isIdentifier(node)) (isDeclaredHere(node) ? declared : used).add(node.text);
    ts.forEachChild(node, visit);
  };
  visit(source);
  const wanted = [...used].filter((name) => !declared.has(name) && names.has(name));
  return wanted.map((name) => `import { ${name} } from '${names.get(name)}'; `).join('');
}

/** @param {ts.Identifier} node */
function isDeclaredHere({ parent, text }) {
  if (ts.isImportSpecifier(parent)) return true;
  const isMember = ts.isClassElement(parent) || ts.isTypeElement(parent) || ts.isObjectLiteralElement(parent);
  const { name } = /** @type {{ name?: ts.Node }} */ (/** @type {unknown} */ (parent));
  const isName = name !== undefined && ts.isIdentifier(name) && name.text === text;
  return isName && !isMember && !ts.isPropertyAccessExpression(parent);
}
