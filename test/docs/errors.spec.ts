import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';

const SOURCES = new URL('../../libs/redis-patterns/src/', import.meta.url);
const PAGE = new URL('../../docs/errors.md', import.meta.url);

/** Every code that the library's sources name. */
function codesInSources(): Set<string> {
  const files = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' });
  const sources = files.filter((file) => file.endsWith('.ts') && !file.endsWith('.spec.ts'));
  const texts = sources.map((file) => readFileSync(new URL(file, SOURCES), 'utf8'));
  return new Set(texts.flatMap((text) => text.match(/\bERR_(?!TLS|SSL|OSSL)[A-Z]+(?:_[A-Z]+)*\b/g) ?? []));
}

/** Every code that the page explains; `ERR_A_` with `B`, `C` stands for ERR_A_B and ERR_A_C. */
function codesOnPage(): Set<string> {
  const page = readFileSync(PAGE, 'utf8');
  const families = [...page.matchAll(/`(ERR_[A-Z_]+_)` with ((?:`[A-Z_]+`(?:,\s*| and )?)+)/g)];
  const members = families.flatMap(([, prefix, list]) =>
    [...list!.matchAll(/`([A-Z_]+)`/g)].map(([, end]) => prefix! + end!),
  );
  return new Set([...[...page.matchAll(/`(ERR_[A-Z_]*[A-Z])`/g)].map(([, code]) => code!), ...members]);
}

describe('docs/errors.md', () => {
  it('explains every code of the library, and none that it does not have', () => {
    expect([...codesOnPage()].toSorted()).toEqual([...codesInSources()].toSorted());
  });
});
