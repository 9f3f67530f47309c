// @ts-check
// Prints what failed and, as the very last line, "N passed, N failed"; exits with 1 when anything failed.
// Usage: node .ci/summary.mjs <stage>=<summary.json of its tests>... -- [failed stage...]
import { readFileSync } from 'node:fs';

const args = process.argv.slice(2);
const end = args.indexOf('--');
const summaries = args.slice(0, end).map((arg) => {
  const [stage = '', file = ''] = arg.split(/=(.*)/s);
  return { stage, ...readSummary(file) };
});
const stages = args.slice(end + 1);

/**
 * @param {string} file
 * @returns {import('../test/summary-reporter.mjs').Summary}
 */
function readSummary(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    // The tests did not get to their end: their stage is among the failed ones, then, or nothing ran at all.
    return { passed: 0, failed: 0, skipped: 0, failures: [] };
  }
}

/** @param {'passed' | 'failed' | 'skipped'} count */
const sum = (count) => summaries.reduce((total, summary) => total + summary[count], 0);

for (const { test, file: spec, error } of summaries.flatMap(({ failures }) => failures)) {
  console.log(`FAILED ${spec}\n  ${test}\n${error.split('\n').slice(0, 15).join('\n').replace(/^/gm, '    ')}\n`);
}
for (const stage of stages) console.log(`FAILED stage: ${stage}`);
if (sum('skipped') > 0) console.log(`${sum('skipped')} skipped`);
// A stage that is failed because of its tests: those count themselves.
const counted = new Set(summaries.filter(({ failed }) => failed > 0).map(({ stage }) => stage));
const total = sum('failed') + stages.filter((stage) => !counted.has(stage)).length;
console.log(`${sum('passed')} passed, ${total} failed`);
process.exitCode = total > 0 || sum('passed') === 0 ? 1 : 0;
