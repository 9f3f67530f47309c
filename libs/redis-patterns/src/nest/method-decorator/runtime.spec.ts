import { describe, expect, it } from '@jest/globals';
import { NotBoundError } from '../../core/errors.js';
import { bindRuntime, injectedRuntime } from './runtime-slot.js';
import { PatternsRuntime } from './runtime.js';

class Locks {}
class Caches {}

describe('PatternsRuntime', () => {
  it('names the engine that is missing and those that are there', () => {
    const runtime = new PatternsRuntime(new Map([[Locks, new Locks()]]));
    expect(() => runtime.engine(Caches)).toThrow(NotBoundError);
    expect(() => runtime.engine(Caches)).toThrow(/no Caches \(it has: Locks\)/);
    expect(() => new PatternsRuntime().engine(Caches)).toThrow(/nothing yet/);
  });

  it('keeps the engines that it was made with', () => {
    const mine = new Locks();
    const runtime = new PatternsRuntime(new Map([[Locks, mine]]));
    runtime.attach(new Map([[Locks, new Locks()]]));
    expect(runtime.engine(Locks)).toBe(mine);
  });

  it('lets every call that waits go on when the engines arrive', async () => {
    const runtime = new PatternsRuntime();
    const waiting = [runtime.whenReady('A.a'), runtime.whenReady('B.b')];
    runtime.attach(new Map());
    await expect(Promise.all(waiting)).resolves.toHaveLength(2);
    await expect(runtime.whenReady('C.c')).resolves.toBeUndefined();
  });

  it('gives up with the name of the call when the engines never arrive', async () => {
    const runtime = new PatternsRuntime(undefined, { readyTimeout: 5 });
    await expect(runtime.whenReady('Settings.load')).rejects.toThrow(/Settings\.load cannot run.*waited 5 ms/);
  });

  it('fails a call at once that the options themselves wait for, and only that one', async () => {
    const runtime = new PatternsRuntime();
    const outside = runtime.whenReady('Other.load');
    await runtime.whileConfiguring(async () => {
      await Promise.resolve();
      await expect(runtime.whenReady('Settings.load')).rejects.toThrow(/called to produce those options/);
    });
    runtime.attach(new Map());
    await expect(outside).resolves.toBeUndefined();
  });

  it('binds an object that has no decorated class, and refuses a frozen one', () => {
    const runtime = new PatternsRuntime(new Map());
    const borrowed = {};
    expect(runtime.bind(borrowed)).toBe(borrowed);
    expect(injectedRuntime(borrowed)).toBe(runtime);
    expect(() => bindRuntime(Object.freeze({}), runtime)).toThrow(NotBoundError);
  });
});
