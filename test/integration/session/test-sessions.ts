import { SessionService, TokenService } from 'nestjs-redis-patterns';
import { resolveSessionOptions } from '../../../libs/redis-patterns/src/session/session.options.js';
import { resolveTokenOptions } from '../../../libs/redis-patterns/src/token/token.options.js';
import { openEngine, type OpenEngine } from '../../support/engine.js';
import type { PlainConnection } from '../../support/topologies.js';

export interface OpenSessions {
  readonly sessions: SessionService;
  readonly tokens: TokenService;
  readonly engine: OpenEngine;
  /** Sessions with other options on the same connection. */
  withOptions(options: object): SessionService;
  close(): Promise<void>;
}

/** Sessions and tokens on a deployment, without NestJS. Whoever opens them closes them. */
export async function openSessions(
  setup: { connection: PlainConnection; namespace: string },
  connectionOptions: object = {},
): Promise<OpenSessions> {
  const engine = await openEngine(setup, connectionOptions);
  const withOptions = (options: object): SessionService =>
    new SessionService(engine.context, resolveSessionOptions(options, 'the spec'));
  return {
    sessions: withOptions({}),
    tokens: new TokenService(engine.context, resolveTokenOptions({}, 'the spec')),
    engine,
    withOptions,
    close: () => engine.close(),
  };
}
