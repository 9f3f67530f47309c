import 'reflect-metadata';
import type { ModulesContainer } from '@nestjs/core';
import type { NestModuleRef, NestWrapper } from './method-decorator/module-visibility.js';
import { PatternsApp } from './patterns-app.js';

/** What somebody in the application has Nest inject. */
export interface Injection {
  /** Name of the class, or token of the factory, that gets it. */
  readonly owner: string;
  readonly token: unknown;
  /** Whether the owner can do without. */
  readonly optional: boolean;
}

/** What providers, controllers, guards, middleware and the like inject; this library's own module does not count. */
export function injectionsOf(modules: ModulesContainer): Injection[] {
  return [...modules.values()]
    .filter((module) => !module.providers.has(PatternsApp))
    .flatMap((module) => wrappersOf(module).flatMap(injectionsInto));
}

function wrappersOf({ providers, controllers, injectables, middlewares }: NestModuleRef): NestWrapper[] {
  return [providers, controllers, injectables, middlewares].flatMap((found) => [...found.values()] as NestWrapper[]);
}

function injectionsInto({ metatype, inject, name }: NestWrapper): Injection[] {
  const owner = String(name);
  if (inject) return (inject as unknown[]).map((given) => ({ owner, ...ofFactory(given) }));
  if (typeof metatype !== 'function') return [];
  // What Nest's own injector reads: declared types, and the tokens of @Inject(), each perhaps with @Optional().
  const read = <T>(key: string): readonly T[] => (Reflect.getMetadata(key, metatype) ?? []) as T[];
  const optional = read<number>('optional:paramtypes');
  const optionalProperties = read<string | symbol>('optional:properties_metadata');
  return [
    ...read('design:paramtypes').map((token, index) => ({ owner, token, optional: optional.includes(index) })),
    ...read<{ param: unknown; index: number }>('self:paramtypes').map(({ param: token, index }) => ({
      owner,
      token,
      optional: optional.includes(index),
    })),
    ...read<{ type: unknown; key: string | symbol }>('self:properties_metadata').map(({ type: token, key }) => ({
      owner,
      token,
      optional: optionalProperties.includes(key),
    })),
  ];
}

function ofFactory(given: unknown): Omit<Injection, 'owner'> {
  const isObject = typeof given === 'object' && given !== null && 'token' in given;
  if (!isObject) return { token: given, optional: false };
  const { token, optional = false } = given as { token: unknown; optional?: boolean };
  return { token, optional };
}
