// @ts-check
// Prints what failed and, as the very last line, "N passed, N failed"; exits with 1 when anything failed.
// Usage: node .ci/summary.mjs <summary.json of the tests> [failed stage...]
import { readFileSync } from 'node:fs';

const [file = '', ...stages] = process.argv.slice(2);

/** @returns {import('../test/summary-reporter.mjs').Summary} */
function readSummary() {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    // The tests did not get to their end: their stage is among the failed ones, then, or nothing ran at all.
    return { passed: 0, failed: 0, skipped: 0, failures: [] };
  }
}

const { passed, failed, skipped, failures } = readSummary();
for (const { test, file: spec, error } of failures) {
  console.log(`FAILED ${spec}\n  ${test}\n${error.split('\n').slice(0, 15).join('\n').replace(/^/gm, '    ')}\n`);
}
for (const stage of stages) console.log(`FAILED stage: ${stage}`);
if (skipped > 0) console.log(`${skipped} skipped`);
// The stage of the tests is failed because of its tests, which count themselves.
const others = stages.filter((stage) => !(stage === 'tests' && failed > 0)).length;
const total = failed + others;
console.log(`${passed} passed, ${total} failed`);
process.exitCode = total > 0 || passed === 0 ? 1 : 0;
