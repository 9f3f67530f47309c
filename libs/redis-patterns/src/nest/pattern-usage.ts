import type { ModulesContainer } from '@nestjs/core';
import type { DecoratedMethod } from './method-decorator/index.js';
import { injectionsOf } from './injections.js';
import type { NestModuleRef } from './method-decorator/module-visibility.js';
import type { AnyPatternPart } from './pattern-part.js';
import { patternParts } from './pattern-parts.js';

/** The patterns that an application uses: it configured them, decorated a method or class, or injects one of their services. */
export function usedPatterns(
  modules: ModulesContainer,
  methods: readonly DecoratedMethod[],
  configured: ReadonlySet<AnyPatternPart>,
): AnyPatternPart[] {
  const decorators = new Set(methods.map((method) => method.decorator));
  const injected = new Set(injectionsOf(modules).map(({ token }) => token));
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
