/** Counters of one command since the start of the server. */
export interface CommandCounters {
  readonly calls: number;
  readonly usec: number;
  /** Refused before they ran: wrong arguments, ACL, OOM. */
  readonly rejected: number;
  readonly failed: number;
}

/** The answer of INFO, read. */
export class Info {
  private constructor(
    private readonly fields: ReadonlyMap<string, string>,
    readonly commands: ReadonlyMap<string, CommandCounters>,
    /** Error replies by their first word. */
    readonly errors: ReadonlyMap<string, number>,
    private readonly before?: Info,
  ) {}

  static parse(text: string): Info {
    const fields = new Map<string, string>();
    const commands = new Map<string, CommandCounters>();
    const errors = new Map<string, number>();
    for (const [, name, value] of text.matchAll(/^([^#:\r\n][^:\r\n]*):(.*?)\r?$/gm)) {
      if (name!.startsWith('cmdstat_')) commands.set(name!.slice(8), commandCounters(value!));
      else if (name!.startsWith('errorstat_')) errors.set(name!.slice(10), pairs(value!).get('count') ?? 0);
      else fields.set(name!, value!);
    }
    return new Info(fields, commands, errors);
  }

  text(name: string): string | undefined {
    return this.fields.get(name);
  }

  /** 0 where the server does not say. */
  number(name: string): number {
    return Number(this.fields.get(name) ?? 0) - (this.before?.number(name) ?? 0);
  }

  /** What has been counted since `earlier`; a server that was started anew meanwhile counts from there. */
  since(earlier: Info): Info {
    if (earlier.text('run_id') !== this.text('run_id')) return this;
    const commands = new Map(
      [...this.commands].map(([name, now]) => [name, minus(now, earlier.commands.get(name))] as const),
    );
    const errors = new Map(
      [...this.errors].map(([word, count]) => [word, count - (earlier.errors.get(word) ?? 0)] as const),
    );
    return new Info(this.fields, commands, errors, earlier);
  }

  calls(command: string): number {
    return this.commands.get(command)?.calls ?? 0;
  }

  /** Keys by database, those with a TTL, and the mean TTL. */
  get databases(): { readonly db: number; readonly keys: number; readonly expires: number }[] {
    return [...this.fields].flatMap(([name, value]) => {
      const db = /^db(\d+)$/.exec(name)?.[1];
      if (db === undefined) return [];
      const counts = pairs(value);
      return [{ db: Number(db), keys: counts.get('keys') ?? 0, expires: counts.get('expires') ?? 0 }];
    });
  }

  /** Replicas that are connected: bytes behind, and seconds since they were heard. */
  get replicas(): { readonly behind: number; readonly lag: number }[] {
    const offset = this.number('master_repl_offset');
    return [...this.fields].flatMap(([name, value]) => {
      if (!/^slave\d+$/.test(name)) return [];
      const counts = pairs(value);
      return [{ behind: Math.max(0, offset - (counts.get('offset') ?? 0)), lag: counts.get('lag') ?? 0 }];
    });
  }

  get version(): string {
    return this.text('valkey_version') ?? this.text('redis_version') ?? '';
  }

  get flavour(): 'redis' | 'valkey' | 'unknown' {
    if (this.text('valkey_version') !== undefined) return 'valkey';
    return this.text('redis_version') === undefined ? 'unknown' : 'redis';
  }

  /** Wall clock of the server, milliseconds. */
  get now(): number {
    return this.number('server_time_usec') / 1000;
  }
}

function commandCounters(value: string): CommandCounters {
  const counts = pairs(value);
  const of = (name: string): number => counts.get(name) ?? 0;
  return { calls: of('calls'), usec: of('usec'), rejected: of('rejected_calls'), failed: of('failed_calls') };
}

function minus(now: CommandCounters, before: CommandCounters | undefined): CommandCounters {
  if (before === undefined) return now;
  return {
    calls: now.calls - before.calls,
    usec: now.usec - before.usec,
    rejected: now.rejected - before.rejected,
    failed: now.failed - before.failed,
  };
}

function pairs(value: string): ReadonlyMap<string, number> {
  return new Map(
    value.split(',').map((pair) => {
      const [name = '', number = ''] = pair.split('=');
      return [name, Number(number)] as const;
    }),
  );
}
