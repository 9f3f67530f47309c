import { isIPv4, isIPv6 } from 'node:net';

/**
 * The network that a client is counted by: an IPv4 address as it is (also when it comes mapped into IPv6), of an IPv6 address
 * the first `v6Prefix` bits, as one client can use all the rest. `undefined` when the text is no address.
 *
 * @example
 * ```ts
 * clientNetwork('::ffff:192.0.2.1', 64); // '192.0.2.1'
 * clientNetwork('2001:db8::1%eth0', 64); // '2001:db8:0:0::/64'
 * ```
 */
export function clientNetwork(address: string, v6Prefix: number): string | undefined {
  if (isIPv4(address)) return address;
  if (!isIPv6(address)) return undefined;
  const groups = groupsOf(address.replace(/%.*$/s, ''));
  if (isMapped(groups)) {
    const [high = 0, low = 0] = groups.slice(6);
    return [high >> 8, high & 0xff, low >> 8, low & 0xff].join('.');
  }
  const masked = groups.map((group, index) => group & mask(v6Prefix - index * 16));
  const text = masked.slice(0, Math.ceil(v6Prefix / 16)).map((group) => group.toString(16));
  return `${text.join(':')}${text.length < 8 ? '::' : ''}${v6Prefix === 128 ? '' : `/${v6Prefix}`}`;
}

/** `::ffff:0:0/96`, where a socket for both families puts IPv4. */
function isMapped(groups: readonly number[]): boolean {
  return groups[5] === 0xffff && groups.slice(0, 5).every((group) => group === 0);
}

function mask(bits: number): number {
  if (bits <= 0) return 0;
  return bits >= 16 ? 0xffff : (0xffff << (16 - bits)) & 0xffff;
}

/** The eight groups of an address that is known to be valid. */
function groupsOf(address: string): number[] {
  const [head = '', tail] = address.split('::');
  const left = parseGroups(head);
  if (tail === undefined) return left;
  const right = parseGroups(tail);
  return [...left, ...Array<number>(8 - left.length - right.length).fill(0), ...right];
}

function parseGroups(text: string): number[] {
  if (text === '') return [];
  return text.split(':').flatMap((group) => {
    if (!group.includes('.')) return [Number.parseInt(group, 16)];
    const [a = 0, b = 0, c = 0, d = 0] = group.split('.').map(Number);
    return [(a << 8) | b, (c << 8) | d];
  });
}
