import {
  resolveStreamOptions,
  StreamAdmin,
  StreamProducer,
  StreamRuntime,
} from '../../../libs/redis-patterns/src/stream/index.js';
import type { StreamOptions } from '../../../libs/redis-patterns/src/stream/index.js';
import { openEngine, type OpenEngine } from '../../support/engine.js';
import type { PlainConnection } from '../../support/topologies.js';

/** Streams without NestJS. */
export interface TestStreams extends OpenEngine {
  readonly namespace: string;
  readonly producer: StreamProducer;
  readonly admin: StreamAdmin;
  readonly runtime: StreamRuntime;
  /** Another process, as far as Redis can tell. */
  anotherRuntime(options?: StreamOptions): StreamRuntime;
  /** Drains all runtimes, quickly, and closes the connection. */
  close(): Promise<void>;
}

/** Times that make a spec quick. */
export const QUICK = { lease: 1000, block: 200, retry: { backoff: { base: 5, max: 20 } } } as const;

export async function openStreams(
  connection: PlainConnection,
  namespace: string,
  options: StreamOptions = {},
  connectionOptions: object = {},
): Promise<TestStreams> {
  const engine = await openEngine({ connection, namespace }, connectionOptions);
  const resolve = (given: StreamOptions) => resolveStreamOptions(given, 'the spec');
  const runtimes: StreamRuntime[] = [];
  const anotherRuntime = (given: StreamOptions = options): StreamRuntime => {
    const runtime = new StreamRuntime(engine.context, resolve(given));
    runtimes.push(runtime);
    return runtime;
  };
  return {
    ...engine,
    namespace,
    producer: new StreamProducer(engine.context, resolve(options)),
    admin: new StreamAdmin(engine.context, resolve(options)),
    runtime: anotherRuntime(),
    anotherRuntime,
    close: async () => {
      await Promise.all(runtimes.map((runtime) => runtime.drain(100)));
      await engine.close();
    },
  };
}

/** Numbers from 0 to n - 1. */
export function range(n: number): number[] {
  return Array.from({ length: n }, (_, index) => index);
}

/** Numbers, in order. */
export function sorted(values: readonly unknown[]): number[] {
  return (values as number[]).toSorted((a, b) => a - b);
}

/** A promise and what settles it. */
export function gate(): { readonly opened: Promise<void>; open(): void } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open: () => open() };
}
