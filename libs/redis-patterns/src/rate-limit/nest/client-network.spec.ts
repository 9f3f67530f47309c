import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { clientNetwork } from './client-network.js';

describe('clientNetwork', () => {
  it.each([
    ['192.0.2.1', 64, '192.0.2.1'],
    ['::ffff:192.0.2.1', 64, '192.0.2.1'],
    ['::FFFF:c000:0201', 64, '192.0.2.1'],
    ['0:0:0:0:0:ffff:192.0.2.1', 64, '192.0.2.1'],
    ['2001:db8:1:2:3:4:5:6', 64, '2001:db8:1:2::/64'],
    ['2001:db8:1:2ff:3:4:5:6', 56, '2001:db8:1:200::/56'],
    ['2001:0DB8:0001:0002::', 48, '2001:db8:1::/48'],
    ['2001:db8::1', 128, '2001:db8:0:0:0:0:0:1'],
    ['fe80::1%eth0', 64, 'fe80:0:0:0::/64'],
    ['::1', 64, '0:0:0:0::/64'],
    ['64:ff9b::192.0.2.1', 128, '64:ff9b:0:0:0:0:c000:201'],
  ])('counts %s with a prefix of %s as %s', (address, prefix, network) => {
    expect(clientNetwork(address, prefix)).toBe(network);
  });

  it.each(['', 'unknown', '192.0.2.1:80', '[::1]', '1.2.3', 'localhost', ':::'])(
    'knows that %j is no address',
    (text) => {
      expect(clientNetwork(text, 64)).toBeUndefined();
    },
  );

  it('counts two addresses together exactly when their first bits are equal', () => {
    const address = fc.array(fc.integer({ min: 0, max: 0xffff }), { minLength: 8, maxLength: 8 });
    const bits = (groups: number[]): string => groups.map((group) => group.toString(2).padStart(16, '0')).join('');
    const text = (groups: number[]): string => groups.map((group) => group.toString(16)).join(':');
    const mapped = (groups: number[]): boolean => bits(groups).startsWith(`${'0'.repeat(80)}${'1'.repeat(16)}`);
    const pair = fc.tuple(address, fc.integer({ min: 1, max: 128 }), fc.integer({ min: 0, max: 127 }));
    fc.assert(
      fc.property(pair, ([groups, prefix, flipped]) => {
        const other = groups.with(flipped >> 4, groups[flipped >> 4]! ^ (1 << (15 - (flipped & 15))));
        fc.pre(!mapped(groups) && !mapped(other));
        const together = clientNetwork(text(groups), prefix) === clientNetwork(text(other), prefix);
        expect(together).toBe(flipped >= prefix);
      }),
    );
  });
});
