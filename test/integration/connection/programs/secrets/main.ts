// Provokes every failure with secrets in everything that it is given, and tells where they could be read.
import 'reflect-metadata';
import {
  CacheService,
  LockService,
  PATTERNS_RUNTIME,
  PatternsExplorer,
  RateLimitService,
  RedisConnections,
  StreamAdmin,
  StreamProducer,
  StreamRuntime,
} from 'nestjs-redis-patterns';
import { PatternsApp } from '../../../../../libs/redis-patterns/src/nest/patterns-app.js';
import { PatternsLifecycle } from '../../../../../libs/redis-patterns/src/nest/patterns-lifecycle.js';
import type { Mode } from '../../../../../scripts/servers/index.mjs';
import { programData, tellParent } from '../../../../support/parent.js';
import type { Provocation } from './provocation.js';
import { PROVOCATIONS } from './provocations.js';
import { Sinks } from './sinks.js';
import { World } from './world.js';

/** What an application can inject; the raw client, which is ioredis' own, is not among them. */
const SERVICES = {
  RedisConnections,
  CacheService,
  LockService,
  RateLimitService,
  StreamProducer,
  StreamAdmin,
  StreamRuntime,
  PatternsExplorer,
  PATTERNS_RUNTIME,
  PatternsApp,
  PatternsLifecycle,
};

const { mode } = programData<{ mode: Mode }>();
const sinks = new Sinks();
const world = await World.create(mode, sinks);
/** Provocations that did not end with their code: they proved nothing. */
const tame: string[] = [];
// What nobody catches would end an application, and be printed on the way.
for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
  process.on(event, (error: unknown) => {
    tame.push(`${sinks.during}: ${event} ${String(error)}`);
    sinks.error(error);
  });
}
const codes = new Set<string>();
const sockets = await socketNames();
for (const provocation of PROVOCATIONS) {
  if (provocation.only === undefined || provocation.only === mode) await provoke(provocation);
}
sinks.during = 'the services afterwards';
sinks.allowed = [];
sinks.look('sockets', sockets);
sinks.look('stats', world.app.get(RedisConnections).stats());
for (const [name, token] of Object.entries(SERVICES)) {
  const service = world.app.get<object | undefined>(token, { strict: false });
  sinks.look(`service ${name}`, service);
}
sinks.during = 'the end';
await world.end();
await tellParent({ type: 'report', leaks: sinks.leaks, seen: sinks.seen, tame, codes: [...codes] });
// The servers that the program started are gone, and the spec has the report.
process.disconnect();

async function provoke({ title, code: expected, run, names = [] }: Provocation): Promise<void> {
  // What the one before has broken is mended first, else this one would only find it broken.
  await world.recovered();
  sinks.during = title;
  sinks.allowed = names;
  const error = await Promise.resolve(world)
    .then(run)
    .then(
      () => undefined,
      (failure: Error & { code?: string }) => failure,
    );
  if (error?.code !== expected) tame.push(`${title}: ${error?.code ?? error?.message ?? 'no error'}`);
  else codes.add(expected);
  sinks.error(error);
}

async function socketNames(): Promise<string> {
  const lists = await Promise.all(
    world.topology.nodes.map((node) => node.command('CLIENT', 'LIST') as Promise<string>),
  );
  return lists.join('\n');
}
