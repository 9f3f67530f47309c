import { Unknown, type ApplicationFacts, type Snapshot } from '../snapshot.js';
import { defineRule } from './rule.js';

function applicationOf({ application }: Snapshot): ApplicationFacts {
  if (application === undefined) throw new Unknown('only inside the application (DoctorService)');
  return application;
}

const clientOptions = defineRule({
  id: 'CON007',
  name: 'client-options',
  severities: ['error'],
  measured: 'options of the raw ioredis clients that are given as `clients`',
  when: 'a client has no deadline, an offline queue, repeats commands by itself, or follows Sentinels without failoverDetector',
  why: 'A hung Redis hangs its callers, commands pile up or run twice, and a demoted master is written to.',
  advice:
    'Use RedisConnections.get(), which has the profile; or set commandTimeout, enableOfflineQueue: false, maxRetriesPerRequest: 0, failoverDetector: true.',
  limits: {},
  *check(snapshot) {
    const { clients } = applicationOf(snapshot);
    if (clients.length === 0) throw new Unknown('no raw clients were given as `clients`');
    for (const client of clients) {
      const faults = [
        ...(client.deadline ? [] : ['no commandTimeout']),
        ...(client.offlineQueue ? ['an offline queue'] : []),
        ...(client.retries ? ['commands are repeated by the client'] : []),
        ...(client.sentinelWithoutDetector ? ['no failoverDetector'] : []),
      ];
      if (faults.length === 0) continue;
      const scope = { connection: client.name };
      yield { severity: 'error', scope, measured: faults.length, threshold: 0, evidence: faults.join(', ') };
    }
  },
});

const pressure = defineRule({
  id: 'CON009',
  name: 'pressure',
  severities: ['warn', 'error'],
  measured: 'state of the own connections: breaker, calls that wait, calls in flight',
  when: 'a breaker is open (error), more than {waiting} calls wait, or more than {inFlight} are in flight',
  why: 'The application asks for more than this Redis, or this pool, can serve.',
  advice: 'Look at the server first; then fewer calls at once, and the limits of the pool.',
  limits: { waiting: 0, inFlight: 800 },
  *check(snapshot, { waiting, inFlight }) {
    for (const connection of applicationOf(snapshot).connections) {
      const scope = { connection: connection.name };
      if (connection.openNodes.length > 0) {
        const evidence = `the breaker is open for ${connection.openNodes.join(', ')}`;
        yield { severity: 'error', scope, measured: connection.openNodes.length, threshold: 0, evidence };
      }
      if (connection.waiting > waiting) {
        const evidence = `${connection.waiting} calls wait for a socket`;
        yield { severity: 'warn', scope, measured: connection.waiting, threshold: waiting, evidence };
      }
      if (connection.inFlight > inFlight) {
        const evidence = `${connection.inFlight} calls are in flight`;
        yield { severity: 'warn', scope, measured: connection.inFlight, threshold: inFlight, evidence };
      }
    }
  },
});

const longHeld = defineRule({
  id: 'LCK001',
  name: 'long-held',
  severities: ['info'],
  measured: 'how long the own locks and permits are held, beside those of the same name before them',
  when: 'one is held for more than {atLeast} ms, and {times} times longer than those before it (median of the last 32), or for more than {share} of its maxHold',
  why: 'Others wait for it; work that outlasts maxHold goes on without the lock.',
  advice: 'Shorten the work under the lock, and end it by the signal of the handle; else raise maxHold.',
  limits: { times: 10, atLeast: 1000, share: 0.9 },
  *check(snapshot, { times, atLeast, share }) {
    const { holds } = applicationOf(snapshot);
    if (holds === undefined) throw new Unknown('only inside the application (DoctorService)');
    for (const { kind, name, heldMs, maxHoldMs, usualMs } of holds) {
      if (heldMs <= atLeast) continue;
      const scope = { owner: name };
      const found = { severity: 'info', scope, measured: Math.round(heldMs) } as const;
      const held = `a ${kind} is held for ${Math.round(heldMs)} ms`;
      const usual = (usualMs ?? Infinity) * times;
      const most = maxHoldMs * share;
      if (heldMs > usual) {
        const evidence = `${held}; those before it for ${Math.round(usualMs!)} ms in the middle`;
        yield { ...found, threshold: Math.round(usual), evidence };
      } else if (heldMs > most) {
        yield { ...found, threshold: Math.round(most), evidence: `${held}, and may be for ${maxHoldMs} ms` };
      }
    }
  },
});

export const applicationRules = [clientOptions, pressure];
export const lockRules = [longHeld];
