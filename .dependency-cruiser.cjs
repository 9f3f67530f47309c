// The directions of the dependencies, as CONTRIBUTING.md draws them; `npm run deps` checks them.
const LIB = '^libs/redis-patterns/src';
const PATTERNS =
  '(cache|rate-limit|lock|stream|throttler|idempotency|leaderboard|counting|feed|session|token|express-session|doctor|pubsub|microservices)';

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'core-knows-nobody',
      severity: 'error',
      from: { path: `${LIB}/core/` },
      to: { path: LIB, pathNot: `${LIB}/core/` },
    },
    {
      name: 'foundations-know-core-only',
      severity: 'error',
      from: { path: `${LIB}/(telemetry|keys|codec)/` },
      to: { path: LIB, pathNot: [`${LIB}/core/`, `${LIB}/$1/`] },
    },
    {
      name: 'connection-knows-foundations-only',
      severity: 'error',
      from: { path: `${LIB}/connection/` },
      to: { path: LIB, pathNot: `${LIB}/(core|telemetry|keys|codec|connection)/` },
    },
    {
      name: 'scripting-knows-connection',
      severity: 'error',
      from: { path: `${LIB}/scripting/` },
      to: { path: LIB, pathNot: `${LIB}/(core|telemetry|keys|codec|connection|scripting)/` },
    },
    {
      name: 'buckets-know-scripting',
      severity: 'error',
      from: { path: `${LIB}/buckets/` },
      to: { path: LIB, pathNot: `${LIB}/(core|telemetry|keys|codec|connection|scripting|buckets)/` },
    },
    {
      name: 'engines-know-no-nest',
      severity: 'error',
      from: {
        path: `${LIB}/`,
        pathNot: [
          '/nest/',
          `${LIB}/((throttler|metrics|otel|health|express-session|microservices)/)?index.ts`,
          `${LIB}/testing/`,
          '\\.spec\\.ts$',
        ],
      },
      to: { path: ['/nest/', '^node_modules/(@nestjs|rxjs|reflect-metadata)/'] },
    },
    {
      name: 'ioredis-values-in-connection-only',
      severity: 'error',
      from: { path: LIB, pathNot: [`${LIB}/connection/`, '\\.spec\\.ts$'] },
      to: { path: '^node_modules/ioredis/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'patterns-meet-through-their-index',
      severity: 'error',
      from: { path: `${LIB}/${PATTERNS}/` },
      to: { path: `${LIB}/${PATTERNS}/`, pathNot: [`${LIB}/$1/`, `${LIB}/${PATTERNS}/index\\.ts$`] },
    },
    {
      name: 'nothing-unlisted',
      severity: 'error',
      from: { path: LIB, pathNot: '\\.spec\\.ts$' },
      // A peer that `peerDependenciesMeta` names is reported as both.
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown', 'unknown'], dependencyTypesNot: ['npm-peer'] },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: ['/dist/'] },
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: 'specify',
  },
};
