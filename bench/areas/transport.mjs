// The transport of streams beside the one of @nestjs/microservices: events, requests with their replies, and what becomes of
// the events when the process of the service is killed and started again.
import { readFileSync } from 'node:fs';
import { killListeners } from '../lib/pubsub/killed.mjs';
import { openRoundTrips } from '../lib/pubsub/latency.mjs';
import { openRequesters } from '../lib/transport/requests.mjs';

const payload = JSON.parse(readFileSync(new URL('../payloads/payloads.json', import.meta.url), 'utf8'))['100B'];

export async function transport(url) {
  const trips = await openRoundTrips(url, ['raw', 'ours', 'nest transport', 'ours transport'], payload);
  const requests = await openRequesters(url, payload);
  let closed;
  const closeTrips = () => (closed ??= trips.close());
  return {
    scenarios: [
      { name: 'event to handler 100 B', arms: trips.arms },
      { name: 'request and reply 100 B', arms: requests.arms },
      {
        name: 'service killed and restarted',
        measure: async ({ quick }) => {
          // A service that still runs would take a part of the events.
          await closeTrips();
          const plan = quick ? { kills: 1, between: 100 } : { kills: 3, between: 500 };
          return killListeners(url, ['nest transport', 'ours transport'], payload, plan);
        },
      },
    ],
    close: async () => {
      await requests.close();
      await closeTrips();
    },
  };
}
