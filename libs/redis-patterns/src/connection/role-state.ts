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

/** A socket, and whether it does what it is for. */
export interface RoleSocket {
  readonly handle: ClientHandle;
  /** It is told what it listens to. */
  readonly hears: boolean;
}

export function roleState(role: ConnectionRole, sockets: readonly RoleSocket[]): RoleState {
  const lacking = sockets.filter(({ handle, hears }) => !handle.isReady || !hears).map(({ handle }) => handle);
  const error = lacking.find(({ lastError }) => lastError !== undefined)?.lastError;
  const state = { role, sockets: sockets.length, ready: sockets.length - lacking.length };
  return error === undefined ? state : { ...state, trouble: wordOf(error) };
}

/** Sockets that are sent commands do what they are for as soon as they are ready. */
export function commandState(role: ConnectionRole, handles: readonly ClientHandle[]): RoleState {
  return roleState(
    role,
    handles.map((handle) => ({ handle, hears: true })),
  );
}

/** The word that Redis or the operating system has for it. */
function wordOf(error: Error): string {
  const { code } = error as { code?: unknown };
  if (typeof code === 'string') return code;
  return /^[A-Z]{4,}(?= |$)/.exec(error.message)?.[0] ?? 'ERROR';
}
