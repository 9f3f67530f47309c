import { ExpressAdapter } from '@nestjs/platform-express';
import { describeOnEachTopology } from '../../support/topologies.js';
import { httpSuite } from './http-suite.js';

describeOnEachTopology('idempotent handlers of Express', { user: 'idempotency' }, (topology) => {
  httpSuite(topology, () => new ExpressAdapter());
});
