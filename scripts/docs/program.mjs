// @ts-check
import path from 'node:path';
import ts from 'typescript';
import { ROOT } from '../bootstrap/log.mjs';

export const SOURCES = path.join(ROOT, 'libs/redis-patterns/src');

/** The compiler options of the repository, and the entries of the library: by name of the package or subpath, as in its `paths`. */
export function compilerSetup() {
  const { config } = ts.readConfigFile(path.join(ROOT, 'tsconfig.json'), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [], files: [] }, ts.sys, ROOT);
  const entries = Object.entries(options.paths ?? {}).map(([name, [file = '']]) => ({
    name,
    file: path.join(ROOT, file),
  }));
  return { options, entries };
}

/** The public declarations of the library, checked. */
export function libraryProgram() {
  const { options, entries } = compilerSetup();
  const files = entries.map(({ file }) => file);
  const program = ts.createProgram(files, {
    ...options,
    declaration: true,
    sourceMap: false,
    stripInternal: true,
    rootDir: SOURCES,
  });
  return { program, checker: program.getTypeChecker(), entries };
}

/**
 * @param {string} entry
 * @param {ts.Program} program
 * @param {ts.TypeChecker} checker
 */
export function exportsOf(entry, program, checker) {
  const source = program.getSourceFile(entry);
  const module = source && checker.getSymbolAtLocation(source);
  if (!module) throw new Error(`${entry} exports nothing; is 'paths' of tsconfig.json right?`);
  return checker
    .getExportsOfModule(module)
    .map((symbol) => (symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol));
}
