import { afterEach, describe, expect, it } from '@jest/globals';
import { startProgram, type Program } from './child-process.js';

describe('a program that a spec starts', () => {
  let program: Program | undefined;
  afterEach(() => program?.kill());

  const start = (data?: unknown): Program => {
    program = startProgram(new URL('./programs/library-user.ts', import.meta.url), { data });
    return program;
  };

  it('runs TypeScript with decorators on the sources of the library, and talks with the spec', async () => {
    const running = start({ answer: 42 });
    const ready = await running.next('ready');
    expect(ready).toMatchObject({ data: { answer: 42 }, parameters: ['Dependency'] });
    expect(ready.exports).toBeGreaterThan(0);
    running.send({ type: 'double', value: 21 });
    running.send({ type: 'double', value: 4 });
    expect(await running.next('doubled', { count: 2 })).toMatchObject({ value: 8 });
    expect(running.received('doubled').map(({ value }) => value)).toEqual([42, 8]);
  });

  it('is killed without a chance to clean up', async () => {
    const running = start();
    await running.next('ready');
    await running.kill();
    expect(running.ending).toEqual({ code: null, signal: 'SIGKILL' });
  });

  it('shows what it printed when it ends before it said what was awaited', async () => {
    const running = start();
    await running.next('ready');
    running.send({ type: 'fail' });
    await expect(running.next('doubled')).rejects.toThrow(
      /ended .*without 'doubled'[\s\S]*told to fail[\s\S]*library-user\.ts/,
    );
  });
});
