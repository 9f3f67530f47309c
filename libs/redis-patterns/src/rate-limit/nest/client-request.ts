import type { ExecutionContext } from '@nestjs/common';

/** What HTTP frameworks have in common of a request. */
export interface ClientRequest {
  readonly ip?: unknown;
  readonly user?: unknown;
  readonly headers?: Record<string, string | string[] | undefined>;
  readonly socket?: { readonly remoteAddress?: string };
  /** Of Fastify. */
  readonly raw?: ClientRequest;
  /** Of Express. */
  readonly res?: object;
}

interface GraphQLContext {
  readonly req?: ClientRequest;
  readonly res?: object;
  readonly reply?: object;
}

/** The request of HTTP or GraphQL; others have none that is known here. */
export function requestOf(context: ExecutionContext): ClientRequest | undefined {
  const type = context.getType<string>();
  if (type === 'http') return context.switchToHttp().getRequest<ClientRequest>();
  if (type !== 'graphql') return undefined;
  const graphql = context.getArgByIndex<GraphQLContext | undefined>(2);
  return graphql?.req ?? (graphql as ClientRequest | undefined);
}

/** What stands for a request in the ledger. A GraphQL context is made for each operation, also of a batch in one request. */
export function identityOf(context: ExecutionContext): object {
  const type = context.getType<string>();
  if (type === 'http') return context.switchToHttp().getRequest<object>();
  const graphql = type === 'graphql' ? context.getArgByIndex<unknown>(2) : undefined;
  // Messages have no identity but their arguments, which guards and interceptors share.
  return typeof graphql === 'object' && graphql !== null ? graphql : context.getArgs();
}

/** The HTTP response of a GraphQL operation, where there is one. */
export function graphqlResponse(context: ExecutionContext): object | undefined {
  const graphql = context.getArgByIndex<GraphQLContext | undefined>(2);
  return graphql?.res ?? graphql?.reply ?? graphql?.req?.res;
}
