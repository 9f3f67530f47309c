import { describe, expect, it } from '@jest/globals';
import { inspect } from 'node:util';
import { InvalidOptionsError } from '../core/errors.js';
import type { ConnectionOptions } from './connection.options.js';
import { resolveConnectionOptions } from './connection.schema.js';
import { Secret } from './secret.js';

const resolve = (raw: unknown) =>
  resolveConnectionOptions(raw as ConnectionOptions, 'RedisPatternsModule.forRoot()', 'connection');

function issuesOf(raw: unknown): string {
  try {
    resolve(raw);
  } catch (error) {
    expect(error).toBeInstanceOf(InvalidOptionsError);
    return (error as Error).message;
  }
  throw new Error('expected an InvalidOptionsError');
}

describe('resolveConnectionOptions', () => {
  it('fills in the defaults, in milliseconds', () => {
    expect(resolve('redis://h')).toMatchObject({
      topology: { mode: 'standalone', host: 'h', port: 6379, db: 0 },
      connectTimeout: 2000,
      commandTimeout: 500,
      closeTimeout: 2000,
      startup: 'wait',
      purpose: 'any',
      pool: { size: 1, maxBlocking: 16, acquireTimeout: 2000, maxInFlight: 1000, maxBufferedBytes: 8 * 1024 * 1024 },
      breaker: { failures: 5, openFor: 1000 },
    });
  });

  it('takes options beside a URL, whatever its topology', () => {
    const resolved = resolve({ url: 'redis+cluster://a:1,b:2', commandTimeout: '1s' });
    expect(resolved.commandTimeout).toBe(1000);
    expect(resolved.topology).toEqual({
      mode: 'cluster',
      nodes: [
        { host: 'a', port: 1 },
        { host: 'b', port: 2 },
      ],
      readFrom: 'master',
    });
  });

  it('reads cluster nodes as texts and as objects, IPv6 too', () => {
    expect(resolve({ mode: 'cluster', nodes: ['a:1', '[::1]:2', { host: 'c', port: 3 }] }).topology).toMatchObject({
      nodes: [
        { host: 'a', port: 1 },
        { host: '::1', port: 2 },
        { host: 'c', port: 3 },
      ],
    });
  });

  it('keeps Sentinels in plain text apart from servers with TLS', () => {
    const url = 'rediss+sentinel://h:26379/main';
    expect(resolve({ url }).sentinel.tls).toBeUndefined();
    expect(resolve({ url, sentinel: { tls: false } }).sentinel.tls).toBe(false);
  });

  it('keeps passwords where nothing prints them', () => {
    const resolved = resolve({ url: 'redis://u:hunter2@h', sentinel: { password: 'hunter2' } });
    expect(resolved.password).toBeInstanceOf(Secret);
    expect((resolved.password as Secret).reveal()).toBe('hunter2');
    for (const shown of [JSON.stringify(resolved), inspect(resolved, { depth: 9 }), `${String(resolved.password)}`]) {
      expect(shown).not.toContain('hunter2');
    }
  });

  it.each([
    [{ host: 'h', comandTimeout: 1 }, "connection.comandTimeout: unknown option; did you mean 'commandTimeout'?"],
    [{ host: 'h', pool: { maxBlockin: 1 } }, "connection.pool.maxBlockin: unknown option; did you mean 'maxBlocking'?"],
    [{ host: 'h', commandTimeout: '5 sec' }, "connection.commandTimeout: '5 sec' is not a duration"],
    [{ host: 'h', commandTimeout: 1 }, 'connection.commandTimeout: must be at least 10ms'],
    [{ host: 'h', port: 0 }, 'connection.port'],
    [{ mode: 'sentinel', sentinels: [] }, 'connection.sentinels: needs at least one sentinel'],
    [{ mode: 'cluster', nodes: ['h'] }, 'connection.nodes[0]'],
    [{ mode: 'clutser' }, "connection.mode: must be 'standalone', 'sentinel' or 'cluster'"],
    [{ url: 'redis://h', host: 'other' }, "connection.url: and 'host' both say the same thing"],
    [{ url: 'redis://u:hunter2@h?x=1' }, 'connection.url: has query parameters'],
    [{ url: 'redis://u:p?hunter2@h' }, "percent-encode a '?' in a password"],
    [{ url: 'rediss://h', tls: false }, "connection.url: and 'tls' both say the same thing"],
    [{ host: 'h', tls: { minVersion: 'TLSv1.1' } }, 'connection.tls.minVersion: is a version of TLS that is broken'],
    [{ host: 'h', sentinel: { tls: { maxVersion: 'TLSv1' } } }, 'connection.sentinel.tls.maxVersion'],
    [{ host: 'h', tls: { rejectUnauthorized: false } }, 'connection.tls.rejectUnauthorized: accepts any certificate'],
    [
      { host: 'h', ioredis: { keyPrefix: 'x' } },
      "connection.ioredis.keyPrefix: is owned by the connection layer; use 'namespace'",
    ],
    [{ host: 'h', breaker: { failures: 0 } }, 'connection.breaker.failures'],
    [{ host: 'h', password: 42 }, 'connection.password'],
    [42, 'connection: must be a URL or an object'],
  ])('refuses %j by name, with the remedy', (raw, words) => {
    const message = issuesOf(raw);
    expect(message).toContain(words);
    expect(message).not.toContain('hunter2');
  });
});
