import { describe, expect, it } from '@jest/globals';
import { parseConnectionUrl, UrlFault } from './connection-url.js';

describe('parseConnectionUrl', () => {
  it.each([
    ['redis://cache.internal', { mode: 'standalone', tls: false, hosts: [{ host: 'cache.internal', port: 6379 }] }],
    [
      'rediss://cache.internal:6380/2',
      { mode: 'standalone', tls: true, hosts: [{ host: 'cache.internal', port: 6380 }], db: 2 },
    ],
    ['redis://[::1]:7000', { mode: 'standalone', tls: false, hosts: [{ host: '::1', port: 7000 }] }],
    [
      'redis+sentinel://a:26379,b:26380/main/3',
      {
        mode: 'sentinel',
        tls: false,
        hosts: [
          { host: 'a', port: 26379 },
          { host: 'b', port: 26380 },
        ],
        masterName: 'main',
        db: 3,
      },
    ],
    [
      'redis+sentinel://a/main',
      { mode: 'sentinel', tls: false, hosts: [{ host: 'a', port: 26379 }], masterName: 'main' },
    ],
    [
      'rediss+cluster://a:1,b:2',
      {
        mode: 'cluster',
        tls: true,
        hosts: [
          { host: 'a', port: 1 },
          { host: 'b', port: 2 },
        ],
      },
    ],
  ])('reads %s', (url, expected) => {
    expect(parseConnectionUrl(url)).toEqual(expected);
  });

  it.each([
    ['redis://alice:p%40ss%2Fword@h', { username: 'alice', password: 'p@ss/word' }],
    ['redis://:secret@h', { password: 'secret' }],
    ['redis://alice@h', { username: 'alice' }],
    ['redis://a:b:c@h', { username: 'a', password: 'b:c' }],
  ])('reads the credentials of %s', (url, expected) => {
    expect(parseConnectionUrl(url)).toMatchObject(expected);
  });

  it.each([
    ['http://secret@h', 'is not a Redis URL'],
    ['secret', 'is not a Redis URL'],
    ['redis://', 'is not a Redis URL'],
    ['redis://u:sec/ret@h', 'is not a Redis URL|not a database number|host'],
    ['redis://h:99999', "is not 'host:port'"],
    ['redis://secret:x@h?db=1&lazyConnect=true', 'query parameters.*percent-encode'],
    ['redis://h,secret', 'several hosts'],
    ['redis://h/secret', 'database number'],
    ['redis://u:sec%ret@h', "'%25'"],
    ['redis+sentinel://h', 'does not name the master'],
    ['redis+cluster://h/1', 'has a path'],
  ])('refuses %s, says what to do, and quotes no secret', (url, words) => {
    const error = catchError(() => parseConnectionUrl(url));
    expect(error).toBeInstanceOf(UrlFault);
    expect(error.message).toMatch(new RegExp(words));
    expect(error.message).not.toMatch(/secret|sec\/ret|sec%ret/);
  });
});

function catchError(fn: () => unknown): Error {
  try {
    fn();
  } catch (error) {
    return error as Error;
  }
  throw new Error('expected an error');
}
