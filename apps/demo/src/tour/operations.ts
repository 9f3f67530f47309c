// How the shop is.
import type { ConnectionStats, DoctorReport } from 'nestjs-redis-patterns';
import { expect, first, say, send } from './visitor.js';

export async function connection(): Promise<void> {
  const { body } = await send<ConnectionStats>('GET', `${first}/redis`);
  const { status, breaker, server, pool } = body;
  say(
    'connection',
    `Redis ${server.version} (${server.maxmemoryPolicy}) is ${status}, the breaker is ${breaker.state}, ${pool.inFlight} calls in flight`,
  );
  expect(status === 'ready' && breaker.state === 'closed', 'the connection is well after all that');
}

export async function doctor(): Promise<void> {
  const { body } = await send<DoctorReport>('GET', `${first}/redis/doctor`);
  const { findings, sample, target } = body;
  const worst = findings[0];
  say(
    'doctor',
    `${sample.keys} keys on ${target.nodes.length} masters, ${findings.length} findings, the worst: ${worst?.id} ${worst?.evidence}`,
  );
  expect(sample.keys > 0 && target.unanswered.length === 0, 'the doctor has looked at every master');
}

export async function operations(): Promise<void> {
  const text = await (await fetch(`${first}/metrics`)).text();
  const hits = [...text.matchAll(/^redis_patterns_cache_requests_total\{.*outcome="hit".*\} (\d+)$/gm)];
  const total = hits.reduce((sum, [, count]) => sum + Number(count), 0);
  const ready = await send<{ status: string }>('GET', `${first}/health`);
  const live = await send<{ status: string }>('GET', `${first}/health/live`);
  say('operations', `/metrics counts ${total} hits; the shop is ${ready.body.status}, its process ${live.body.status}`);
  expect(total > 0, 'hits are counted');
  // Something may have been missed while Redis was frozen: that is degraded for a minute.
  expect(ready.status === 200 && live.status === 200, 'a load balancer goes on sending requests');
}
