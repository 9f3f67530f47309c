import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { AbstractHttpAdapter } from '@nestjs/core';
import { describeOnEachTopology } from '../../support/topologies.js';
import { responseSuite } from './response-suite.js';

describeOnEachTopology('cached responses of Fastify', { user: 'cache' }, (topology) => {
  responseSuite(topology, () => new FastifyAdapter() as unknown as AbstractHttpAdapter);
});
