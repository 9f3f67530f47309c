// Jest runs the TypeScript sources as ES modules (NestJS 12 is ESM only); see CONTRIBUTING.md.
export default {
  testEnvironment: 'node',
  rootDir: '.',
  roots: ['<rootDir>/libs', '<rootDir>/apps', '<rootDir>/test'],
  testRegex: '\\.(spec|e2e-spec)\\.ts$',
  modulePathIgnorePatterns: ['<rootDir>/dist/', '<rootDir>/libs/.*/dist/'],
  extensionsToTreatAsEsm: ['.ts'],
  moduleFileExtensions: ['ts', 'js', 'mjs', 'json', 'node'],
  moduleNameMapper: {
    '^nestjs-redis-patterns$': '<rootDir>/libs/redis-patterns/src/index.ts',
    '^nestjs-redis-patterns/([\\w-]+)$': '<rootDir>/libs/redis-patterns/src/$1/index.ts',
    '^(\\.{1,2}/.*)\\.js$': '$1',
  },
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        swcrc: false,
        sourceMaps: true,
        module: { type: 'es6' },
        jsc: {
          target: 'es2022',
          parser: { syntax: 'typescript', decorators: true },
          transform: { legacyDecorator: true, decoratorMetadata: true, useDefineForClassFields: false },
          keepClassNames: true,
        },
      },
    ],
  },
  setupFiles: ['<rootDir>/test/support/keep-channels.mjs'],
  coverageProvider: 'v8',
  globalSetup: '<rootDir>/test/global-setup.mjs',
  globalTeardown: '<rootDir>/test/global-teardown.mjs',
  testTimeout: 60000,
  // One spec at a time, where the command line does not say more; in a process of its own that is replaced when it has grown, because
  // modules of finished specs stay in memory: the last ones took three times as long.
  maxWorkers: 1,
  workerIdleMemoryLimit: '700MB',
};
