import type { AbstractHttpAdapter } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { describeOnEachTopology } from '../../support/topologies.js';
import { httpSuite } from './http-suite.js';

describeOnEachTopology('idempotent handlers of Fastify', { user: 'idempotency' }, (topology) => {
  httpSuite(topology, () => new FastifyAdapter() as unknown as AbstractHttpAdapter);
});
