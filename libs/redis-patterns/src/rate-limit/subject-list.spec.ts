import { describe, expect, it } from '@jest/globals';
import { isListEntry, isNetwork, SubjectList } from './subject-list.js';

describe('SubjectList', () => {
  const list = new SubjectList(['user:7', '10.0.0.0/8', '192.0.2.1', 'ip:198.51.100.0/24', '2001:db8::/32', 'ip:::1']);

  it.each([
    ['user:7', true],
    ['user:77', false],
    ['ip:10.255.0.1', true],
    ['ip:11.0.0.1', false],
    ['ip:192.0.2.1', true],
    ['ip:192.0.2.2', false],
    ['ip:198.51.100.9', true],
    ['ip:2001:db8:1:2::/64', true],
    ['ip:2001:db9:1:2::/64', false],
    ['ip:::1', true],
    ['10.1.1.1', false],
    ['ip:nonsense', false],
  ])('looks at the subject %s: %s', (subject, found) => {
    expect(list.has(subject)).toBe(found);
  });

  it('looks at the address instead, where it is known', () => {
    expect(list.has('user:1', '10.0.0.1')).toBe(true);
    expect(list.has('user:1', '::ffff:10.0.0.1')).toBe(true);
    expect(list.has('user:1', 'fe80::1%eth0')).toBe(false);
    expect(list.has('ip:10.0.0.1', '11.0.0.1')).toBe(false);
    expect(list.has('user:7', '11.0.0.1')).toBe(true);
    expect(new SubjectList(['user:7']).has('user:8', '11.0.0.1')).toBe(false);
  });

  it.each([
    'user:7',
    '10.0.0.0/8',
    '10.0.0.1',
    'ip:10.0.0.0/8',
    '::/0',
    '2001:db8::1/128',
    'tenant/7',
    'user:a/b',
    '42',
    'v1.2.3',
  ])('takes %s', (entry) => {
    expect(isListEntry(entry)).toBe(true);
  });

  it.each([
    '',
    'ip:',
    'ip:nobody',
    '10.0.0.0/33',
    '10.0.0/8',
    '2001:db8::/129',
    '10.0.0.0/',
    '10.0.0.0/-1',
    '300.1.1.1',
    '10.0.0.*',
    '10.0.0',
    7,
  ])('refuses %j', (entry) => {
    expect(isListEntry(entry)).toBe(false);
  });

  it('knows networks from subjects', () => {
    expect(['10.0.0.0/8', '::1', 'user:7', 'tenant/7'].map(isNetwork)).toEqual([true, true, false, false]);
  });
});
