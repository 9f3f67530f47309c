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

export const applicationRules = [clientOptions, pressure];
