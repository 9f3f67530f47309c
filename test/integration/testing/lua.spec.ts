import { describe, expect, it } from '@jest/globals';
import { SCRIPTS } from '../../../libs/redis-patterns/src/otel/scripts.js';
import { compile } from '../../../libs/redis-patterns/src/testing/interpreter/compiler.js';

describe('the compiler of scripts', () => {
  it.each(SCRIPTS.map(({ name, lua }) => [name, lua]))('compiles %s', (_, lua) => {
    expect(compile(lua)).toBeInstanceOf(Function);
  });
});
