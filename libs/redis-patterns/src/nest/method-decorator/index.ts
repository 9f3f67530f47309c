export { PatternsExplorer, type DecoratedMethod } from './explorer.js';
export { DecoratedMethodError } from './method-decorator.errors.js';
export { decorateMethod, decoratorsOn, instanceMethod } from './method-decorator.js';
export { isRequestHandler, requestKind, type RequestKind } from './request-handler.js';
export { patternsRuntimeProviders } from './runtime.providers.js';
export { PATTERNS_RUNTIME } from './runtime-slot.js';
export { PatternsRuntime, type EngineToken } from './runtime.js';
export type {
  Around,
  AsyncMethod,
  AsyncMethodDecorator,
  CallSite,
  DecoratedCall,
  FitsMethod,
  InstanceTarget,
  MethodPattern,
  MethodResult,
} from './types.js';
