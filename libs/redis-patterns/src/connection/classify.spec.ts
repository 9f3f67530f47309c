import { inspect } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { classify, redact, safeCause } from './classify.js';

describe('classify', () => {
  it.each([
    ["Stream isn't writeable and enableOfflineQueue options is false", 'not-sent', 'ERR_REDIS_NOT_READY'],
    ["Cluster isn't ready and enableOfflineQueue options is false", 'not-sent', 'ERR_REDIS_NOT_READY'],
    ['Connection is closed.', 'unknown', 'ERR_REDIS_CONNECTION_LOST'],
    ['Reached the max retries per request limit (which is 0).', 'unknown', 'ERR_REDIS_CONNECTION_LOST'],
    ['read ECONNRESET', 'unknown', 'ERR_REDIS_CONNECTION_LOST'],
    ['READONLY You can’t write against a read only replica.', 'refused', 'ERR_REDIS_REFUSED'],
    ['LOADING Redis is loading the dataset in memory', 'refused', 'ERR_REDIS_REFUSED'],
    ['CLUSTERDOWN The cluster is down', 'refused', 'ERR_REDIS_REFUSED'],
    ['Too many Cluster redirections. Last error: ReplyError: MOVED 1 127.0.0.1:1', 'refused', 'ERR_REDIS_REFUSED'],
    ['Too many Cluster redirections. Last error: Error: Connection is closed.', 'unknown', 'ERR_REDIS_CONNECTION_LOST'],
    ["OOM command not allowed when used memory > 'maxmemory'.", 'refused', 'ERR_REDIS_REFUSED'],
    ['WRONGTYPE Operation against a key holding the wrong kind of value', 'refused', undefined],
    ['NOSCRIPT No matching script.', 'refused', undefined],
  ])('reads "%s" as %s', (message, outcome, code) => {
    const failure = classify(new Error(message));
    expect([failure.outcome, failure.code]).toEqual([outcome, code]);
  });

  it('knows that a script which failed in its middle may have written', () => {
    const text = 'WRONGTYPE Operation against a key script: 1a2b3c, on @user_script:3.';
    expect(classify(new Error(text))).toMatchObject({ outcome: 'unknown', passing: false });
    // A state error is refused before the first write or never.
    expect(classify(new Error('OOM command not allowed script: 1a2b3c, on @user_script:3.'))).toMatchObject({
      outcome: 'refused',
    });
  });

  it('repeats only what passes by itself', () => {
    expect(classify(new Error('LOADING x')).passing).toBe(true);
    expect(classify(new Error('OOM x')).passing).toBe(false);
  });
});

describe('safeCause', () => {
  it('keeps words and code, and drops the arguments of the command', () => {
    const original = Object.assign(new Error("ERR unknown command 'FOO', with args beginning with: 'hunter2' "), {
      command: { name: 'foo', args: ['hunter2'] },
      code: 'ECODE',
    });
    const copy = safeCause(original);
    expect(copy.message).toBe("ERR unknown command 'FOO'");
    expect(copy).toHaveProperty('code', 'ECODE');
    expect(inspect(copy, { depth: 9 })).not.toContain('hunter2');
  });
});

describe('the error of a script', () => {
  const failed = (message: string): string =>
    safeCause(Object.assign(new Error(message), { command: { name: 'evalsha', args: ['hunter2'] } })).message;

  it.each([
    ['ERR bad hunter2', 'ERR a script failed'],
    ['MYWORD hunter2', 'MYWORD a script failed'],
    ['Command aborted due to connection close', 'Command aborted due to connection close'],
    ['NOSCRIPT No matching script.', 'NOSCRIPT No matching script.'],
    [
      'ERR value is not an integer or out of range script: 1a2b, on @user_script:3.',
      'ERR value is not an integer or out of range script: 1a2b, on @user_script:3.',
    ],
  ])('is told as far as it is Redis’ own: %s', (message, told) => expect(failed(message)).toBe(told));
});

describe('redact', () => {
  it.each([
    ["ERR unknown command 'FOO', with args beginning with: 'hunter2' ", "ERR unknown command 'FOO'"],
    ["ERR unknown subcommand 'hun'ter2'. Try OBJECT HELP.", "ERR unknown subcommand '…'. Try OBJECT HELP."],
    [
      "NOGROUP No such key 'hunter2' or consumer group 'hunter2' in XREADGROUP",
      "NOGROUP No such key '…' in XREADGROUP",
    ],
    ['ERR user_script:1: hunter2 script: 1a2b, on @user_script:1.', 'ERR user_script:1: failed'],
    ["NOPERM this user has no permissions to run the 'incr' command", undefined],
    ["OOM command not allowed when used memory > 'maxmemory'.", undefined],
    ["READONLY You can't write against a read only replica.", undefined],
  ])('cuts what Redis repeats of a command: %s', (message, expected) => {
    expect(redact(message)).toBe(expected ?? message);
  });
});
