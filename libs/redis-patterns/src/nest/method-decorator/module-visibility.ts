import type { InjectionToken } from '@nestjs/common';
import type { ModulesContainer } from '@nestjs/core';

/** A module as Nest holds it. */
export type NestModuleRef = ModulesContainer extends Map<string, infer Module> ? Module : never;

/** A provider or controller as Nest holds it. */
export type NestWrapper = NestModuleRef['providers'] extends Map<unknown, infer Wrapper> ? Wrapper : never;

/** Whether providers of the module can inject the token; the rules are those of Nest's own look-up. */
export function isVisible(token: InjectionToken, module: NestModuleRef): boolean {
  return module.providers.has(token) || isExported(token, module.imports, new Set());
}

function isExported(token: InjectionToken, modules: Iterable<NestModuleRef>, seen: Set<NestModuleRef>): boolean {
  for (const module of modules) {
    if (seen.has(module)) continue;
    seen.add(module);
    if (module.exports.has(token) && module.providers.has(token)) return true;
    const passedOn = [...module.imports].filter((imported) => module.exports.has(imported.metatype));
    if (isExported(token, passedOn, seen)) return true;
  }
  return false;
}
