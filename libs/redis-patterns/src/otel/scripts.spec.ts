import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { SCRIPT_NAMES } from './scripts.js';

it('knows every script of the library', () => {
  const source = new URL('../', import.meta.url);
  const files = readdirSync(source, { recursive: true }).map(String);
  const generated = files.filter((file) => file.endsWith('scripts.generated.ts'));
  const shas = generated.flatMap((file) =>
    [...readFileSync(new URL(file, source), 'utf8').matchAll(/^ {2}sha: '(\w+)',$/gm)].map(([, sha]) => sha!),
  );
  expect(generated.length).toBeGreaterThan(10);
  expect(new Set(SCRIPT_NAMES.keys())).toEqual(new Set(shas));
});
