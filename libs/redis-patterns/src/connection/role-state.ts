import type { ConnectionRole } from './client-factory.js';
import type { ClientHandle } from './client-handle.js';

/** The sockets of one role of a connection, now. */
export interface RoleState {
  readonly role: ConnectionRole;
  readonly sockets: number;
  /** How many of them can be used; in a Cluster one stands for all nodes. */
  readonly ready: number;
  /** Why the first of the others cannot: `WRONGPASS`, `ECONNREFUSED`; never a text. */
  readonly trouble?: string;
}

export function roleState(role: ConnectionRole, handles: readonly ClientHandle[]): RoleState {
  const lacking = handles.filter(({ isReady }) => !isReady);
  const error = lacking.find(({ lastError }) => lastError !== undefined)?.lastError;
  const state = { role, sockets: handles.length, ready: handles.length - lacking.length };
  return error === undefined ? state : { ...state, trouble: wordOf(error) };
}

/** The word that Redis or the operating system has for it. */
function wordOf(error: Error): string {
  const { code } = error as { code?: unknown };
  if (typeof code === 'string') return code;
  return /^[A-Z]{4,}(?= |$)/.exec(error.message)?.[0] ?? 'ERROR';
}
