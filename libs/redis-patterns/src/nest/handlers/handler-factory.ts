import { ContextIdFactory, ModuleRef, type ExternalContextCreator } from '@nestjs/core';
import { isObservable, lastValueFrom } from 'rxjs';
import type { HandlerHost } from './handler-hosts.js';
import { MESSAGE_PARAMS, messageParamsFactory } from './message-params.js';

type Method = (...args: unknown[]) => unknown;

/** Makes handlers that run through Nest: guards, interceptors, pipes, parameters, the method, filters. */
export class HandlerFactory {
  constructor(
    private readonly contexts: ExternalContextCreator,
    /** What `ExecutionContext.getType()` says in them. */
    private readonly contextType: string,
  ) {}

  /** For a host that lives as long as the application, everything is put together once; else for each message. */
  create(host: HandlerHost, methodName: string): (body: unknown, context: object) => unknown {
    const { instance, wrapper, module } = host;
    if (instance !== undefined) {
      const run = this.#bind(instance, methodName);
      return (body, context) => run(body, context);
    }
    return async (body, context) => {
      const moduleRef = module.getProviderByKey(ModuleRef).instance as ModuleRef;
      const contextId = ContextIdFactory.getByRequest(context);
      moduleRef.registerRequestByContextId(context, contextId);
      const scoped = await moduleRef.resolve<object>(wrapper.token, contextId, { strict: true });
      return this.#bind(scoped, methodName, contextId, wrapper.id)(body, context);
    };
  }

  #bind(instance: object, methodName: string, contextId?: { id: number }, inquirerId?: string): Method {
    return this.contexts.create(
      instance as Record<string, Method>,
      lateBound(instance as Record<string, Method>, methodName),
      methodName,
      MESSAGE_PARAMS,
      messageParamsFactory,
      contextId,
      inquirerId,
      undefined,
      this.contextType,
    ) as Method;
  }
}

/**
 * Looks the method up when a message comes, so that what replaces it later (a spy, an instrumentation) is what runs. It
 * carries the method's metadata, by which Nest finds guards and the like.
 */
function lateBound(instance: Record<string, Method>, methodName: string): Method {
  const method = instance[methodName]!;
  const late: Method = function (this: Record<string, Method>, ...args) {
    const result = instance[methodName]!(...args);
    // An Observable that is empty has ended well, too.
    return isObservable(result) ? lastValueFrom(result, { defaultValue: undefined }) : result;
  };
  for (const key of Reflect.getMetadataKeys(method) as unknown[]) {
    Reflect.defineMetadata(key, Reflect.getMetadata(key, method), late);
  }
  Object.defineProperty(late, 'name', { value: methodName });
  return late;
}
