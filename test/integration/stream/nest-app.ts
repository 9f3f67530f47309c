import type { LoggerService, ModuleMetadata, Type } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { afterEach, beforeEach, expect } from '@jest/globals';
import { InvalidOptionsError } from '../../../libs/redis-patterns/src/core/errors.js';
import { RedisPatternsModule } from '../../../libs/redis-patterns/src/nest/redis-patterns.module.js';
import type { RedisPatternsOptions } from '../../../libs/redis-patterns/src/nest/redis-patterns.options.js';
import { StreamAdmin, StreamProducer, type PublishOptions } from '../../../libs/redis-patterns/src/stream/index.js';
import type { PlainConnection, SharedTopology } from '../../support/topologies.js';
import { QUICK } from './test-streams.js';

/** What most handlers consume. */
export const orders = { stream: 'orders', group: 'g', ...QUICK } as const;

const quiet = (): void => undefined;
const silent: LoggerService = { log: quiet, error: quiet, warn: quiet };

/** Applications of a test, each test in a namespace of its own. */
export class Applications {
  readonly #opened: TestingModule[] = [];
  /** Where they connect to. */
  place!: { connection: PlainConnection; namespace: string };

  /** The one that was booted last. */
  get app(): TestingModule {
    return this.#opened.at(-1)!;
  }

  rootOf(parts: ModuleMetadata, options: Partial<RedisPatternsOptions> = {}): ModuleMetadata {
    const patterns = RedisPatternsModule.forRoot({ ...this.place, ...options });
    return { ...parts, imports: [patterns, ...(parts.imports ?? [])] };
  }

  async boot(parts: ModuleMetadata, options: Partial<RedisPatternsOptions> = {}): Promise<TestingModule> {
    const app = await Test.createTestingModule(this.rootOf(parts, options)).setLogger(silent).compile();
    this.#opened.push(app);
    return app.init() as Promise<TestingModule>;
  }

  async bootFailure(providers: Type[], options: Partial<RedisPatternsOptions> = {}): Promise<Error> {
    const failure: unknown = await this.boot({ providers }, options).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(InvalidOptionsError);
    return failure as Error;
  }

  publish(payload: unknown, options: PublishOptions = {}): Promise<string> {
    return this.app.get(StreamProducer).publish('orders', payload, options);
  }

  async pendingCount(): Promise<number | undefined> {
    return (await this.app.get(StreamAdmin).pending('orders', 'g'))?.count;
  }

  async close(): Promise<void> {
    await Promise.all(this.#opened.splice(0).map((app) => app.close()));
  }
}

/** Applications of the tests of a suite; they are closed after each. */
export function useApplications(topology: SharedTopology): Applications {
  const applications = new Applications();
  beforeEach(async () => {
    applications.place = { connection: topology.connection, namespace: await topology.newNamespace() };
  });
  afterEach(() => applications.close());
  return applications;
}
