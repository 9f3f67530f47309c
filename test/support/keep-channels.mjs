// @ts-check
// Each spec file has modules of its own, which die with it, and with them the channels of the telemetry that they held. Node 20 may
// then forget those of the next file as well (see telemetry.ts). So this process holds them, whoever is first.
import diagnostics from 'node:diagnostics_channel';

const KEPT = Symbol.for('nestjs-redis-patterns:kept-channels');
const names = [
  'connection',
  'command',
  'breaker',
  'gap',
  'subscription-gap',
  'lock-lost',
  'dead-letter',
  'lag',
  'warning',
  'error',
];
const patterns = ['cache', 'ratelimit', 'lock', 'idempotency', 'stream'];

Reflect.set(
  diagnostics,
  KEPT,
  Reflect.get(diagnostics, KEPT) ?? [
    ...names.map((name) => diagnostics.channel(`redis-patterns:${name}`)),
    ...patterns.map((pattern) => diagnostics.tracingChannel(`redis-patterns:${pattern}`)),
  ],
);
