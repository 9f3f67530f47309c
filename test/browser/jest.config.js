// `npm run test:browser`. It starts its own Redis with the demo, so nothing is set up before.
import base from '../../jest.config.js';

const { globalSetup: _, globalTeardown: __, ...rest } = base;

export default {
  ...rest,
  rootDir: '../..',
  roots: ['<rootDir>/test/browser'],
  testRegex: '\\.browser\\.ts$',
};
