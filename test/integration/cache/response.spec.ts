import { ExpressAdapter } from '@nestjs/platform-express';
import { describeOnEachTopology } from '../../support/topologies.js';
import { responseSuite } from './response-suite.js';

describeOnEachTopology('cached responses of Express', { user: 'cache' }, (topology) => {
  responseSuite(topology, () => new ExpressAdapter());
});
