import { MetadataScanner, type ModulesContainer } from '@nestjs/core';
import type { NestModuleRef, NestWrapper } from '../method-decorator/module-visibility.js';

/** A provider or controller with handlers; a `Mark` is what a decorator said of one. */
export interface HandlerHost<Mark = unknown> {
  readonly className: string;
  readonly module: NestModuleRef;
  readonly wrapper: NestWrapper;
  /** The one object, or `undefined` where each message gets its own (request or transient scope). */
  readonly instance: object | undefined;
  readonly methods: readonly { readonly name: string; readonly marks: readonly Mark[] }[];
}

/**
 * All hosts of the application. An object that is provided under several names, or in several modules, counts once.
 *
 * @param marksOf what decorators said of a method
 */
export function findHandlerHosts<Mark>(
  modules: ModulesContainer,
  marksOf: (method: object) => readonly Mark[],
): HandlerHost<Mark>[] {
  const scanner = new MetadataScanner();
  const seen = new Set<object>();
  const hosts: HandlerHost<Mark>[] = [];
  for (const module of modules.values()) {
    for (const wrapper of [...module.providers.values(), ...module.controllers.values()] as NestWrapper[]) {
      if (wrapper.isAlias) continue;
      const single = !wrapper.isTransient && wrapper.isDependencyTreeStatic();
      const instance = single ? asObject(wrapper.instance) : undefined;
      const prototype = single ? instance && (Object.getPrototypeOf(instance) as object | null) : classOf(wrapper);
      if (!prototype || (instance !== undefined && seen.has(instance))) continue;
      const methods = scanner.getAllMethodNames(prototype).flatMap((name) => {
        const marks = marksOf((prototype as Record<string, object>)[name]!);
        return marks.length === 0 ? [] : [{ name, marks }];
      });
      if (methods.length === 0) continue;
      if (instance !== undefined) seen.add(instance);
      const className = (prototype.constructor as { name?: string }).name || 'AnonymousClass';
      hosts.push({ className, module, wrapper, instance, methods });
    }
  }
  return hosts;
}

function asObject(value: unknown): object | undefined {
  return typeof value === 'object' && value !== null ? value : undefined;
}

function classOf({ metatype, inject }: NestWrapper): object | undefined {
  // Of a factory that runs for each request nobody knows beforehand what it makes.
  return typeof metatype === 'function' && !inject ? (metatype as { prototype?: object }).prototype : undefined;
}
