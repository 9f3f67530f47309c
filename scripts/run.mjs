// @ts-check
// The entry of `npm test`, `npm run demo` and `npm run bench`. Plain Node.js with nothing but built-ins, because it is
// what a fresh clone runs before any package is installed. Nothing is imported before the version is known to do.
const USAGE = `Usage: node scripts/run.mjs <command>
  install                       npm ci when it is needed, and a Redis server
  build                         the library and the demo, when their sources changed
  test [jest arguments]         all tests on real servers
  browser [--screenshot]        the demo's page in a real browser
  demo [--mode=standalone|sentinel|cluster] [--tour] [--port=3000]
  example [name]                one of examples/, or all
  bench <areas> [--json]        benchmarks beside raw ioredis`;

/** What `engines` in package.json says; Node.js itself does not check it. */
function versionProblem(version = process.versions.node) {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const lowest = /** @type {Record<number, number>} */ ({ 20: 19, 22: 12 });
  if (major >= 24 || minor >= (lowest[major] ?? Infinity)) return undefined;
  return `Node.js ${version} is too old or unsupported: use 20.19+, 22.12+ or 24+ (https://nodejs.org).`;
}

/** @param {readonly string[]} argv */
async function main([command = '', ...args]) {
  const problem = versionProblem();
  if (problem) throw Object.assign(new Error(problem), { expected: true });
  const { commands } = await import('./bootstrap/commands.mjs');
  const run = commands[command];
  if (!run) throw Object.assign(new Error(USAGE), { expected: true });
  return run(args);
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  const expected = error instanceof Error && ('expected' in error || 'code' in error);
  process.stderr.write(`${expected ? error.message : error instanceof Error ? error.stack : String(error)}\n`);
  process.exitCode = 1;
}
