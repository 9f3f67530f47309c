import 'reflect-metadata';

/** What a request handler answers: HTTP, operations of GraphQL, or messages of gateways and microservices. */
export type RequestKind = 'http' | 'graphql' | 'message';

/**
 * Whether Nest calls this method for requests: an HTTP route, a message or event pattern, a WebSocket message, a GraphQL
 * query, mutation or subscription. It must be asked when the class is complete (in `bind()`), as decorators written above
 * have not run before.
 *
 * A GraphQL field resolver is none: guards and interceptors do not run there unless `fieldResolverEnhancers` says so.
 */
export function isRequestHandler(prototype: object, propertyKey: string | symbol): boolean {
  const method = methodOf(prototype, propertyKey);
  return method !== undefined && requestKind(method) !== undefined;
}

/** The kind of requests that Nest calls a method for; `undefined` for other methods. */
export function requestKind(method: object): RequestKind | undefined {
  const read = (key: string): unknown => Reflect.getMetadata(key, method) as unknown;
  // These keys are written into every compiled application; importing them would make optional peers mandatory.
  if (read('path') !== undefined && typeof read('method') === 'number') return 'http';
  if (['Query', 'Mutation', 'Subscription'].includes(String(read('graphql:resolver_type')))) return 'graphql';
  const isMessage = read('microservices:pattern') !== undefined || read('websockets:message_mapping') === true;
  return isMessage ? 'message' : undefined;
}

/** The method that instances of the class have, without running a getter. */
function methodOf(prototype: object, propertyKey: string | symbol): object | undefined {
  const owner = ownerOf(prototype, propertyKey);
  const method: unknown = owner && Object.getOwnPropertyDescriptor(owner, propertyKey)?.value;
  return typeof method === 'function' ? method : undefined;
}

/** The first prototype in the chain that has the property. */
export function ownerOf(prototype: object, propertyKey: string | symbol): object | undefined {
  let owner: object | null = prototype;
  while (owner !== null && !Object.hasOwn(owner, propertyKey)) owner = Object.getPrototypeOf(owner) as object | null;
  return owner ?? undefined;
}
