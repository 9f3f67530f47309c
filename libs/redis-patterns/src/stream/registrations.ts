import { InvalidOptionsError } from '../core/errors.js';
import type { ResolvedConsumerOptions, ResolvedReaderOptions } from './consumer.options.js';
import type { StreamReader } from './reader/reader.js';
import { Routes, type Route } from './reader/routes.js';
import type { KnownGroup } from './stream-book.js';

/** One reader to be, and who said what about it. */
export interface Registration {
  readonly known: KnownGroup;
  readonly routes: Routes;
  readonly options: Map<keyof ResolvedReaderOptions, { value: unknown; by: string }>;
  reader: StreamReader | undefined;
  readonly ready: Promise<void>;
  readonly becomeReady: () => void;
}

/** Consumers of one stream and group make one reader. */
export class Registrations {
  readonly #all = new Map<string, Registration>();

  get size(): number {
    return this.#all.size;
  }

  values(): Iterable<Registration> {
    return this.#all.values();
  }

  get(known: KnownGroup): Registration {
    const id = JSON.stringify([known.name, known.group]);
    const found = this.#all.get(id);
    if (found !== undefined) return found;
    let becomeReady = (): void => undefined;
    const ready = new Promise<void>((resolve) => (becomeReady = resolve));
    const made = { known, routes: new Routes(), options: new Map(), reader: undefined, ready, becomeReady };
    this.#all.set(id, made);
    return made;
  }
}

/**
 * Adds a handler.
 *
 * @throws InvalidOptionsError for a type that another one takes already; for a reader option that another one has given with
 * another value, or that comes when the reader reads
 */
export function addRoute(registration: Registration, options: ResolvedConsumerOptions, route: Route): void {
  const rival = registration.routes.conflict(options.types);
  if (rival !== undefined) throw typeConflict(registration, options.types, route.name, rival.name);
  if (route.options.batch !== undefined && registration.reader !== undefined)
    throw tooLate(registration, 'batch', route.name);
  refuseOrderedBatch(registration, options, route);
  mergeOptions(registration, options.reader, route.name);
  registration.routes.add(options.types, route);
}

/** The messages of a batch run together, those of one key one after the other. */
function refuseOrderedBatch(
  { options, routes, known }: Registration,
  own: ResolvedConsumerOptions,
  route: Route,
): void {
  const batched = route.options.batch === undefined ? routes.batched : route;
  const ordering = own.reader.ordering ?? options.get('ordering')?.value;
  if (batched === undefined || ordering !== 'key') return;
  const message =
    `cannot be combined with ordering: 'key', which holds for all consumers of ${known.name}/${known.group}: take messages one by ` +
    `one (leave 'batch' out), or put the batches into a group of their own`;
  throw new InvalidOptionsError(batched.name, [{ path: 'batch', message }]);
}

/** What one consumer says of the reader holds for all; two that say different things cannot both be right. */
function mergeOptions(registration: Registration, given: Partial<ResolvedReaderOptions>, where: string): void {
  const { known: stream, options, reader } = registration;
  for (const [name, value] of Object.entries(given) as [keyof ResolvedReaderOptions, unknown][]) {
    const known = options.get(name);
    if (known !== undefined && JSON.stringify(known.value) !== JSON.stringify(value)) {
      const message = `differs from that of ${known.by}: both read ${stream.name}/${stream.group} with one reader; say it once`;
      throw new InvalidOptionsError(where, [{ path: name, message }]);
    }
    if (known === undefined && reader !== undefined) throw tooLate(registration, name, where);
  }
  for (const [name, value] of Object.entries(given) as [keyof ResolvedReaderOptions, unknown][]) {
    if (!options.has(name)) options.set(name, { value, by: where });
  }
}

function tooLate({ known }: Registration, path: string, where: string): InvalidOptionsError {
  return new InvalidOptionsError(where, [
    { path, message: `comes too late: ${known.name}/${known.group} is being read` },
  ]);
}

function typeConflict(
  { known }: Registration,
  types: readonly string[] | undefined,
  where: string,
  rival: string,
): InvalidOptionsError {
  const what =
    types === undefined ? 'all types that nobody else takes' : `type ${types.map((type) => `'${type}'`).join(', ')}`;
  const message = `${rival} already takes ${what} of ${known.name}/${known.group}; a message has one handler in a group: give each its own 'type', or its own 'group'`;
  return new InvalidOptionsError(where, [{ path: 'type', message }]);
}
