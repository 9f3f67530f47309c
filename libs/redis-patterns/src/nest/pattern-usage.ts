import 'reflect-metadata';
import type { ModulesContainer } from '@nestjs/core';
import type { DecoratedMethod } from './method-decorator/index.js';
import type { NestModuleRef, NestWrapper } from './method-decorator/module-visibility.js';
import type { AnyPatternPart } from './pattern-part.js';
import { patternParts } from './pattern-parts.js';
import { PatternsApp } from './patterns-app.js';

/** The patterns that an application uses: it configured them, decorated a method or class, or injects one of their services. */
export function usedPatterns(
  modules: ModulesContainer,
  methods: readonly DecoratedMethod[],
  configured: ReadonlySet<AnyPatternPart>,
): AnyPatternPart[] {
  const decorators = new Set(methods.map((method) => method.decorator));
  const injected = new Set([...modules.values()].flatMap(injectedTokens));
  const classes = [...modules.values()].flatMap(classesOf);
  return patternParts.filter(
    (part) =>
      configured.has(part) ||
      (part.marks !== undefined && classes.some(part.marks)) ||
      part.decorators.some((decorator) => decorators.has(decorator)) ||
      part.services.some((service) => injected.has(service.token)),
  );
}

function classesOf(module: NestModuleRef): object[] {
  return [...module.providers.values(), ...module.controllers.values()].flatMap(({ metatype, inject }) =>
    !inject && typeof metatype === 'function' ? [metatype] : [],
  );
}

/** What providers, controllers, guards, middleware and the like of a module inject; this library's own module does not count. */
function injectedTokens(module: NestModuleRef): unknown[] {
  if (module.providers.has(PatternsApp)) return [];
  const { providers, controllers, injectables, middlewares } = module;
  const all = [providers, controllers, injectables, middlewares].flatMap(
    (found) => [...found.values()] as NestWrapper[],
  );
  return all.flatMap(({ metatype, inject }) => {
    if (inject) return [...inject] as unknown[];
    if (typeof metatype !== 'function') return [];
    // What Nest's own injector reads: declared types, and the tokens of @Inject().
    const types = (Reflect.getMetadata('design:paramtypes', metatype) ?? []) as unknown[];
    const named = (Reflect.getMetadata('self:paramtypes', metatype) ?? []) as { param: unknown }[];
    const properties = (Reflect.getMetadata('self:properties_metadata', metatype) ?? []) as { type: unknown }[];
    return [...types, ...named.map(({ param }) => param), ...properties.map(({ type }) => type)];
  });
}
