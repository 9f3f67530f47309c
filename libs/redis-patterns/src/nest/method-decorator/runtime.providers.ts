import type { FactoryProvider, Provider } from '@nestjs/common';
import { PatternsExplorer } from './explorer.js';
import { PATTERNS_RUNTIME } from './runtime-slot.js';
import { PatternsRuntime, type EngineToken } from './runtime.js';

/** Token of the step that hands the engines to the runtime; of no use to anybody else. */
const ATTACH_ENGINES = Symbol.for('nestjs-redis-patterns:attach-engines');

/**
 * Providers that the module needs for decorated methods; it has to export `PATTERNS_RUNTIME`.
 *
 * @param engines classes of the engines; those that the module does not provide are left out
 */
export function patternsRuntimeProviders(engines: readonly EngineToken[]): Provider[] {
  const attach: FactoryProvider<true> = {
    provide: ATTACH_ENGINES,
    inject: [PATTERNS_RUNTIME, ...engines.map((token) => ({ token, optional: true }))],
    useFactory: (runtime: PatternsRuntime, ...instances: (object | undefined)[]) => {
      const attached = new Map<EngineToken, object>();
      engines.forEach((token, index) => {
        const engine = instances[index];
        if (engine !== undefined) attached.set(token, engine);
      });
      // An override may be anything; the methods then say so.
      if (runtime instanceof PatternsRuntime) runtime.attach(attached);
      return true;
    },
  };
  return [{ provide: PATTERNS_RUNTIME, useFactory: () => new PatternsRuntime() }, attach, PatternsExplorer];
}
