import type { RoleState } from '../connection/index.js';

export type HealthStatus = 'up' | 'degraded' | 'down';

/** State of one connection. Names and codes only: no host, no user, no key. */
export interface ConnectionHealth {
  readonly status: HealthStatus;
  /** Each role that has sockets. */
  readonly roles: Readonly<Record<string, 'up' | 'down'>>;
  /** What is wrong: `ERR_REDIS_DEADLINE`, `subscriber`, `gap`, `reader orders/billing`, `lag orders/billing`, `memory`. */
  readonly reasons: readonly string[];
}

/** State of all connections that were looked at. */
export interface HealthReport {
  readonly status: HealthStatus;
  readonly connections: Readonly<Record<string, ConnectionHealth>>;
}

export function rolesOf(states: readonly RoleState[]): {
  readonly roles: Record<string, 'up' | 'down'>;
  readonly reasons: string[];
} {
  const roles: Record<string, 'up' | 'down'> = {};
  const reasons: string[] = [];
  for (const { role, sockets, ready, trouble } of states) {
    roles[role] = ready === sockets ? 'up' : 'down';
    if (ready === sockets) continue;
    reasons.push(role);
    if (trouble !== undefined) reasons.push(trouble);
  }
  return { roles, reasons };
}

/** The worst of all. */
export function statusOf(all: readonly HealthStatus[]): HealthStatus {
  if (all.includes('down')) return 'down';
  return all.includes('degraded') ? 'degraded' : 'up';
}
