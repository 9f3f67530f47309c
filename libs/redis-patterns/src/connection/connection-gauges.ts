import type { Telemetry } from '../telemetry/index.js';
import type { ConnectionStats } from './connection-stats.js';
import type { RoleState } from './role-state.js';

/** What can be read of a connection at any time. */
interface Readable {
  readonly name: string;
  roles(): readonly RoleState[];
  stats(): ConnectionStats;
}

export function offerGauges({ gauges }: Telemetry, readable: Readable): void {
  const connection = readable.name;
  gauges.add('up', () =>
    readable.roles().map(({ role, sockets, ready }) => ({
      labels: { connection, role },
      value: ready === sockets ? 1 : 0,
    })),
  );
  gauges.add('commands_inflight', () => [{ labels: { connection }, value: readable.stats().pool.inFlight }]);
  gauges.add('breaker_state', () => [
    { labels: { connection }, value: readable.stats().breaker.state === 'open' ? 1 : 0 },
  ]);
}
