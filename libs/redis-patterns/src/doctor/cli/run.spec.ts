import { describe, expect, it } from '@jest/globals';
import { parseCommand } from './arguments.js';
import { ProgressBar } from './progress.js';
import { runCommand } from './run.js';

async function run(...args: string[]): Promise<{ code: number; out: string; error: string }> {
  const output = { out: '', error: '' };
  const code = await runCommand({
    args,
    env: {},
    stdin: (async function* () {})(),
    stdout: { write: (text) => (output.out += text) },
    stderr: { write: (text) => (output.error += text) },
    signal: new AbortController().signal,
  });
  return { code, ...output };
}

describe('the command line', () => {
  it('is read into options', () => {
    const line =
      'doctor redis://h --window 10s --max-keys 50 --fail-on warn --only TTL001,TTL002 --set size001.warn=9 --set SIZE001.error=99 --classify token:=session';
    expect(parseCommand(line.split(' '))).toMatchObject({
      url: 'redis://h',
      json: false,
      options: {
        window: '10s',
        maxKeys: 50,
        failOn: 'warn',
        only: ['TTL001', 'TTL002'],
        rules: { SIZE001: { warn: 9, error: 99 } },
        classify: { 'token:': 'session' },
      },
    });
  });

  it('explains rules without a Redis', async () => {
    const explained = await run('doctor', '--explain', 'ttl002');
    expect(explained.code).toBe(0);
    expect(explained.out).toContain('TTL002 no-ttl (error, critical)');
    expect(explained.out).toContain('--set TTL002.cache=0.05');
    expect((await run('doctor', '--rules')).out).toMatch(/^EVI003 .*critical/m);
    expect(await run('--help')).toMatchObject({ code: 0, out: expect.stringContaining('Exit code: 0') });
  });

  it.each([
    [['doctor'], 'Give the URL'],
    [['dcotor'], 'Unknown command'],
    [['doctor', 'redis://h', '--jsno'], 'did you mean --json?'],
    [['doctor', 'redis://u:hunter2@h', 'more'], 'Give one URL'],
    [['doctor', 'http://u:hunter2@h'], 'is not a Redis URL'],
    [['doctor', 'redis://h', '--window', '10'], '--window must be a time'],
    [['doctor', 'redis://h', '--max-keys', 'many'], '--max-keys must be a number'],
    [['doctor', 'redis://h', '--fail-on', 'bad'], '--fail-on must be one of'],
    [['doctor', 'redis://h', '--set', 'SIZE001'], '--set is written'],
    [['doctor', 'redis://h', '--set', 'SIZE001.wran=1'], "no limit 'wran'; it has warn, error"],
    [['doctor', 'redis://h', '--skip', 'TTL02'], "did you mean 'TTL002'?"],
    [['doctor', 'redis://h', '--classify', 'a=b'], '--classify is written'],
    [['doctor', 'redis://h', '--baseline', '/nowhere'], 'The baseline cannot be read (ENOENT)'],
    [['doctor', '--explain', 'X'], 'No rule has that id'],
  ])('refuses %j with a remedy', async (args, words) => {
    const { code, out, error } = await run(...args);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(error).toContain(words);
    expect(error).not.toContain('hunter2');
  });
});

describe('the progress bar', () => {
  it('is drawn on a terminal alone, and taken away', () => {
    for (const isTTY of [true, false]) {
      let text = '';
      const bar = new ProgressBar({ isTTY, write: (part) => (text += part) });
      bar.update({ keys: 50, of: 100 });
      bar.end();
      expect(text).toBe(isTTY ? `\r[${'#'.repeat(15)}${'.'.repeat(15)}] 50 of 100 keys\r\u001b[K` : '');
    }
  });
});
