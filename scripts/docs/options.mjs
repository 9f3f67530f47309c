// @ts-check
// Reads the option types that the library exports: their members, and what their TSDoc says of them.
import ts from 'typescript';
import { exportsOf } from './program.mjs';

/**
 * @typedef {object} Member
 * @property {string} name
 * @property {boolean} optional
 * @property {string} type as it is written in the source
 * @property {string} text its TSDoc, in one line
 * @property {string} from the type that declares it
 *
 * @typedef {object} OptionType
 * @property {string} name
 * @property {string} text
 * @property {string | undefined} alias what a type stands for that has no members of its own
 * @property {readonly Member[]} members
 */

/**
 * Every exported type, by name.
 *
 * @param {ReturnType<typeof import('./program.mjs').libraryProgram>} library
 * @returns {Map<string, OptionType>}
 */
export function optionTypes({ program, checker, entries }) {
  const exported = entries.flatMap(({ file }) => exportsOf(file, program, checker));
  const types = exported.map((symbol) => readType(symbol, checker)).filter((type) => type !== undefined);
  return new Map(types.map((type) => [type.name, type]));
}

/**
 * @param {ts.Symbol} symbol
 * @param {ts.TypeChecker} checker
 * @returns {OptionType | undefined} undefined for what is neither an interface nor an alias
 */
function readType(symbol, checker) {
  const declaration = symbol.declarations?.find(
    (node) => ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node),
  );
  if (!declaration) return undefined;
  const text = documentationOf(symbol, checker);
  const type = checker.getDeclaredTypeOfSymbol(symbol);
  const isAlias = ts.isTypeAliasDeclaration(declaration) && !ts.isTypeLiteralNode(declaration.type);
  if (isAlias) return { name: symbol.name, text, alias: oneLine(declaration.type.getText()), members: [] };
  const members = checker.getPropertiesOfType(type).map((member) => readMember(member, checker));
  return { name: symbol.name, text, alias: undefined, members };
}

/**
 * @param {ts.Symbol} symbol
 * @param {ts.TypeChecker} checker
 * @returns {Member}
 */
function readMember(symbol, checker) {
  const declaration = symbol.declarations?.[0];
  const parent = declaration?.parent;
  const written = declaration && ts.isPropertySignature(declaration) ? declaration.type?.getText() : undefined;
  return {
    name: symbol.name,
    optional: Boolean(symbol.flags & ts.SymbolFlags.Optional),
    type: oneLine(
      written ?? (declaration ? checker.typeToString(checker.getTypeOfSymbolAtLocation(symbol, declaration)) : ''),
    ),
    text: documentationOf(symbol, checker),
    from: parent && ts.isInterfaceDeclaration(parent) ? parent.name.text : '',
  };
}

/**
 * @param {ts.Symbol} symbol
 * @param {ts.TypeChecker} checker
 */
function documentationOf(symbol, checker) {
  const text = ts.displayPartsToString(symbol.getDocumentationComment(checker));
  return oneLine(text.replace(/\{@link ([\w.]+) ?\}/g, '`$1`'));
}

/** @param {string} text */
function oneLine(text) {
  return text.replace(/\s+/g, ' ').trim();
}
