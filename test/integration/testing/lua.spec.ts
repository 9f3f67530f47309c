import { describe, expect, it } from '@jest/globals';
import { SCRIPTS } from '../../../libs/redis-patterns/src/otel/scripts.js';
import { compile } from '../../../libs/redis-patterns/src/testing/interpreter/compiler.js';
import { expressionOf } from '../../../libs/redis-patterns/src/testing/interpreter/pattern.js';
import { describeOn } from '../../support/topologies.js';

describe('the compiler of scripts', () => {
  it.each(SCRIPTS.map(({ name, lua }) => [name, lua]))('compiles %s', (_, lua) => {
    expect(compile(lua)).toBeInstanceOf(Function);
  });
});

describeOn('standalone', 'patterns of Lua', (topology) => {
  it.each([
    ['^(%d+)-(%d+)$', '12-3'],
    ['^(.-)-(.*)$', 'a-b-c'],
    ['-', 'a-b'],
    ['a--b', 'a--b'],
    ['^([^|]+)', 'process|7|l'],
    ['%^%$x', '^$x'],
    ['a^b$c', 'a^b$c'],
    ['(a)?', 'a?'],
    ['[]%-x]+', 'y-]x'],
    ['%s*(%u%l*)', '  Word'],
    ['.+{2}', 'ab{2}'],
    ['', 'any'],
    ['nothing', 'else'],
  ])('mean the same in memory: %s', async (pattern, text) => {
    const script = "return { string.match(ARGV[1], ARGV[2]) or '(none)' }";
    const first = ((await topology.admin.client.eval(script, 0, text, pattern)) as string[])[0];
    const found = expressionOf(pattern).exec(text);
    expect(found === null ? '(none)' : (found[1] ?? found[0])).toBe(first);
  });
});
