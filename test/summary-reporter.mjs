// @ts-check
import { writeFileSync } from 'node:fs';
import path from 'node:path';

/**
 * @typedef {object} Summary what REDIS_PATTERNS_TEST_SUMMARY, the path of a file, is given as JSON
 * @property {number} passed
 * @property {number} failed a suite that could not run counts as one
 * @property {number} skipped
 * @property {{ test: string, file: string, error: string }[]} failures
 */

/** Prints every failed test once more at the very end, and one line with the counts. */
export default class SummaryReporter {
  /**
   * @param {unknown} _contexts
   * @param {import('@jest/reporters').AggregatedResult} results
   */
  onRunComplete(_contexts, results) {
    /** @type {Summary['failures']} */
    const failures = [];
    for (const suite of results.testResults) {
      const file = path.relative(process.cwd(), suite.testFilePath);
      const failed = suite.testResults.filter((test) => test.status === 'failed');
      for (const test of failed)
        failures.push({ test: test.fullName, file, error: plain(test.failureMessages.join('\n')) });
      // A suite that does not load, or whose hook after the last test fails, has no failed test to show.
      if (failed.length === 0 && (suite.testExecError || suite.failureMessage)) {
        failures.push({
          test: '(the whole file)',
          file,
          error: plain(suite.failureMessage ?? suite.testExecError?.message ?? ''),
        });
      }
    }
    const skipped = results.numPendingTests + results.numTodoTests;
    /** @type {Summary} */
    const summary = { passed: results.numPassedTests, failed: failures.length, skipped, failures };
    for (const { test, file, error } of failures) {
      process.stderr.write(
        `\nFAILED ${file}\n  ${test}\n${error.split('\n').slice(0, 12).join('\n').replace(/^/gm, '    ')}\n`,
      );
    }
    const extra = skipped > 0 ? `, ${skipped} skipped` : '';
    process.stderr.write(`\n${summary.passed} passed, ${summary.failed} failed${extra}\n`);
    const target = process.env.REDIS_PATTERNS_TEST_SUMMARY;
    if (target) writeFileSync(target, JSON.stringify(summary));
  }
}

/**
 * Without colours and without the stack frames of the test runner.
 *
 * @param {string} text
 */
function plain(text) {
  // oxlint-disable-next-line no-control-regex -- colours are control characters
  const lines = text.replace(/\u001b\[[0-9;]*m/g, '').split('\n');
  return lines
    .filter((line) => !/^\s+at .*(node_modules|node:internal)/.test(line))
    .join('\n')
    .trim();
}
