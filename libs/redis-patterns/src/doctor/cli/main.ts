#!/usr/bin/env node
import { runCommand } from './run.js';

const controller = new AbortController();
for (const name of ['SIGINT', 'SIGTERM'] as const) {
  process.once(name, () => controller.abort(new Error(`Ended by ${name}.`)));
}
// Not process.exit(): a pipe may not have taken all of a long report yet.
void runCommand({
  args: process.argv.slice(2),
  env: process.env,
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  signal: controller.signal,
}).then((code) => (process.exitCode = code));
