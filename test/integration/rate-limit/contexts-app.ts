import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { Injectable, type ExecutionContext, type INestApplication, type Provider, type Type } from '@nestjs/common';
import { ApolloDriver, type ApolloDriverConfig } from '@nestjs/apollo';
import { GraphQLModule } from '@nestjs/graphql';
import { ClientProxyFactory, Transport, type ClientProxy } from '@nestjs/microservices';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { WsAdapter } from '@nestjs/platform-ws';
import { Test } from '@nestjs/testing';
import { lastValueFrom } from 'rxjs';
import { RedisPatternsModule } from '../../../libs/redis-patterns/src/nest/redis-patterns.module.js';
import { RateLimitService, type RateLimitOptions } from '../../../libs/redis-patterns/src/rate-limit/index.js';
import type { SharedTopology } from '../../support/topologies.js';

export type Platform = 'express' | 'fastify';
export type Kind = 'http' | 'graphql' | 'ws' | 'rpc';

/** The integration of Apollo with Fastify is another package. */
export const KINDS: Readonly<Record<Platform, readonly Kind[]>> = {
  express: ['http', 'graphql', 'ws', 'rpc'],
  fastify: ['http', 'ws', 'rpc'],
};

export interface AppParts {
  readonly controllers?: Type[];
  readonly providers?: Provider[];
  /** Fields of the GraphQL queries and mutations. */
  readonly typeDefs?: string;
  readonly rateLimit: RateLimitOptions;
}

/** What the client got, and the headers of HTTP. */
export interface Answer {
  readonly passed: boolean;
  readonly body: unknown;
  readonly status?: number;
  readonly headers?: Headers;
}

interface PlainSocket {
  send(text: string): void;
  terminate(): void;
}

/** Holds handlers back until the test lets them go. */
@Injectable()
export class Gate {
  readonly waiting: (() => void)[] = [];

  pass(): Promise<void> {
    return new Promise((resolve) => this.waiting.push(resolve));
  }

  open(): void {
    this.waiting.splice(0).forEach((letGo) => letGo());
  }
}

/** Who sends a message, told by each kind in its own way: `http:…`, `graphql:…`, `ws:…`, `rpc:…`. */
export function clientOf(context: unknown): string {
  const { getArgs, getType, switchToHttp } = context as ExecutionContext;
  const kind = getType.call(context) as Kind;
  const args = getArgs.call(context) as { client?: string }[];
  if (kind !== 'http') return `${kind}:${args[kind === 'rpc' ? 0 : 1]!.client}`;
  const { headers } = switchToHttp.call(context).getRequest<{ headers: Record<string, string> }>();
  return `http:${headers['x-client']}`;
}

/** An application that listens, and that its clients reach in every way. */
export class ContextsApp {
  private constructor(
    readonly app: INestApplication,
    private readonly tcp: ClientProxy,
    readonly url: string,
    private readonly openSocket: (url: string) => PlainSocket,
  ) {}

  static async start(
    { connection, namespace }: SharedTopology,
    platform: Platform,
    { controllers = [], providers = [], typeDefs = '', rateLimit }: AppParts,
  ): Promise<ContextsApp> {
    const graphql = { driver: ApolloDriver, typeDefs, allowBatchedHttpRequests: true };
    const module = await Test.createTestingModule({
      imports: [
        RedisPatternsModule.forRoot({ namespace, connection, rateLimit: { deadline: '5s', ...rateLimit } }),
        ...(platform === 'express' && typeDefs !== '' ? [GraphQLModule.forRoot<ApolloDriverConfig>(graphql)] : []),
      ],
      controllers,
      providers,
    }).compile();
    const app = module.createNestApplication(platform === 'express' ? new ExpressAdapter() : new FastifyAdapter());
    app.useWebSocketAdapter(new WsAdapter(app));
    const tcp = { transport: Transport.TCP, options: { host: '127.0.0.1', port: 0 } } as const;
    const server = app.connectMicroservice(tcp, { inheritAppConfig: true });
    await app.startAllMicroservices();
    const http = (await app.listen(0, '127.0.0.1')) as { address(): AddressInfo };
    const { port } = server.unwrap<{ address(): AddressInfo }>().address();
    const client = ClientProxyFactory.create({ ...tcp, options: { host: '127.0.0.1', port } });
    // It brings no types.
    const { WebSocket } = (await import('ws' as string)) as { WebSocket: new (url: string) => PlainSocket };
    return new ContextsApp(app, client, `127.0.0.1:${http.address().port}`, (url) => new WebSocket(url));
  }

  get limits(): RateLimitService {
    return this.app.get(RateLimitService);
  }

  async http(path: string, headers: Record<string, string> = {}, init: RequestInit = {}): Promise<Answer> {
    const answer = await fetch(`http://${this.url}/${path}`, { ...init, headers });
    const text = await answer.text();
    const isJson = answer.headers.get('content-type')?.includes('json') === true;
    const body: unknown = isJson ? JSON.parse(text) : text;
    return { passed: answer.ok, body, status: answer.status, headers: answer.headers };
  }

  /** @param query one operation, or several in one request */
  async graphql(query: string | string[]): Promise<Answer> {
    const operations = [query].flat().map((each) => ({ query: each }));
    const answer = await this.http(
      'graphql',
      { 'content-type': 'application/json' },
      { method: 'POST', body: JSON.stringify(Array.isArray(query) ? operations : operations[0]) },
    );
    return { ...answer, passed: [answer.body].flat().every((each) => !('errors' in (each as object))) };
  }

  async ws(event: string, data: object): Promise<Answer> {
    const socket = this.openSocket(`ws://${this.url}`);
    await once(socket as never, 'open');
    socket.send(JSON.stringify({ event, data }));
    const [message] = (await once(socket as never, 'message')) as [Buffer];
    socket.terminate();
    const answer = JSON.parse(message.toString()) as { event: string; data: unknown };
    return { passed: answer.event !== 'exception', body: answer.data };
  }

  async rpc(pattern: string, data: object): Promise<Answer> {
    return lastValueFrom(this.tcp.send<unknown>(pattern, data)).then(
      (body) => ({ passed: true, body }),
      (body: unknown) => ({ passed: false, body }),
    );
  }

  /** The same message in any of the ways; handlers have the name of the message. */
  send(kind: Kind, name: string, client: string): Promise<Answer> {
    if (kind === 'http') return this.http(name, { 'x-client': client });
    if (kind === 'graphql') return this.graphql(`{ ${name}(client: "${client}") }`);
    return this[kind](name, { client });
  }

  async close(): Promise<void> {
    await this.tcp.close();
    await this.app.close();
  }
}
