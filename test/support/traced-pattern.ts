import type { DynamicModule, InjectionToken, ModuleMetadata } from '@nestjs/common';
import {
  decorateMethod,
  PATTERNS_RUNTIME,
  PatternsExplorer,
  patternsRuntimeProviders,
  type AsyncMethodDecorator,
  type CallSite,
  type DecoratedCall,
  type MethodPattern,
} from '../../libs/redis-patterns/src/nest/method-decorator/index.js';
import { parseOptions } from '../../libs/redis-patterns/src/core/options.js';
import { z } from 'zod';

export interface TracedOptions {
  /** Written in front of what is recorded. */
  label?: string;
  /** Answer instead of the method. */
  answer?: (...args: never[]) => unknown;
}

/** Engine of a pattern that does nothing but write down what happens: it makes the decorator mechanism visible. */
export class Recorder {
  readonly events: string[] = [];
  readonly calls: DecoratedCall[] = [];
  readonly sites: CallSite[] = [];

  constructor(readonly app = 'app') {}
}

/** Token of the module's options, which every engine needs. */
export const TRACED_OPTIONS = Symbol('traced-options');

export const tracedPattern: MethodPattern<TracedOptions> = {
  decorator: '@Traced',
  observable: 'stream',
  bind: (raw, runtime, site) => {
    const schema = z.strictObject({ label: z.string().optional(), answer: z.custom<() => unknown>().optional() });
    const { label = '', answer } = parseOptions(schema, raw, site.name);
    const recorder = runtime.engine(Recorder);
    recorder.sites.push(site);
    const say = (text: string): unknown => recorder.events.push(`${label}${site.name} ${text}`);
    return async (call) => {
      recorder.calls.push(call);
      say(`before(${call.args.map(String).join(',')})`);
      if (answer !== undefined) return Reflect.apply(answer, call.instance, call.args);
      try {
        const result = await call.proceed();
        say(`after=${String(result)}`);
        return result;
      } catch (error) {
        say(`failed:${(error as Error).message}`);
        throw error;
      }
    };
  },
};

/** The same for Observables that stand for a single value, with names that identify what is stored. */
export const tracedValuePattern: MethodPattern<TracedOptions> = {
  ...tracedPattern,
  decorator: '@TracedValue',
  observable: 'value',
  nameIsKey: () => true,
};

export function Traced<Answer extends (...args: never[]) => unknown>(
  options: { label?: string; answer?: Answer } = {},
): AsyncMethodDecorator<Answer> {
  return decorateMethod(tracedPattern, options);
}

export function TracedValue(options: TracedOptions = {}): AsyncMethodDecorator {
  return decorateMethod(tracedValuePattern, options);
}

/** A module wired as RedisPatternsModule is: options, an engine that needs them, the runtime. */
export class TracedModule {
  static forRoot(options: { app?: string; isGlobal?: boolean } = {}): DynamicModule {
    return TracedModule.forRootAsync({ isGlobal: options.isGlobal ?? true, useFactory: () => options.app ?? 'app' });
  }

  static forRootAsync(options: {
    imports?: ModuleMetadata['imports'];
    inject?: InjectionToken[];
    useFactory: (...args: never[]) => string | Promise<string>;
    isGlobal?: boolean;
  }): DynamicModule {
    return {
      module: TracedModule,
      global: options.isGlobal ?? true,
      imports: options.imports ?? [],
      providers: [
        {
          provide: TRACED_OPTIONS,
          inject: [PATTERNS_RUNTIME, ...(options.inject ?? [])],
          useFactory: (runtime: { whileConfiguring<T>(configure: () => T): T }, ...args: never[]) =>
            runtime.whileConfiguring(() => options.useFactory(...args)),
        },
        { provide: Recorder, inject: [TRACED_OPTIONS], useFactory: (app: string) => new Recorder(app) },
        ...patternsRuntimeProviders([Recorder]),
      ],
      exports: [PATTERNS_RUNTIME, PatternsExplorer, Recorder],
    };
  }
}
