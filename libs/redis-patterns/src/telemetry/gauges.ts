/** A value that is read when somebody asks, from the memory of this process. */
export interface GaugeSample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Names of what engines can be asked for; the table of metrics has a line for each. */
export type GaugeName =
  | 'up'
  | 'commands_inflight'
  | 'breaker_state'
  | 'cache_loads_running'
  | 'cache_waiters'
  | 'cache_invalidations_queued'
  | 'locks_held'
  | 'semaphore_permits'
  | 'leader';

type Read = () => Iterable<GaugeSample>;

/** What the engines of one application hold now. */
export class Gauges {
  readonly #reads = new Map<GaugeName, Read[]>();

  add(name: GaugeName, read: Read): void {
    this.#reads.set(name, [...(this.#reads.get(name) ?? []), read]);
  }

  /** All samples of a name; a reader that fails gives none. */
  read(name: GaugeName): GaugeSample[] {
    return (this.#reads.get(name) ?? []).flatMap((read) => {
      try {
        return [...read()];
      } catch {
        return [];
      }
    });
  }
}
