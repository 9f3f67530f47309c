import { BlockList, isIP, isIPv6 } from 'node:net';

const IP_SUBJECT = 'ip:';
/** Digits and dots: an address, or a mistake in one, which as a subject would match nobody. */
const LIKE_IPV4 = /^[\d*-]*\.[\d.*-]*$/;
const NETWORK = /^[0-9a-f:.]+\/[^/]*$/i;

export const subjectListRule =
  "must be a subject such as 'user:7', an address, or a network such as '10.0.0.0/8' or '2001:db8::/32'";

/**
 * Subjects and networks that are let through, or kept out. A subject matches as a whole; an address or network matches the
 * client's address where that is known, else a subject that is an address (`ip:192.0.2.1`).
 *
 * @example
 * ```ts
 * const list = new SubjectList(['user:7', '10.0.0.0/8']);
 * list.has('ip:10.1.2.3'); // true
 * list.has('user:8', '10.1.2.3'); // true: by the address that it came from
 * ```
 */
export class SubjectList {
  readonly #subjects = new Set<string>();
  readonly #networks = new BlockList();
  #hasNetworks = false;

  /** @param entries texts that {@link isListEntry} accepts */
  constructor(readonly entries: readonly string[]) {
    for (const entry of entries) this.#add(entry);
  }

  /**
   * @param subject who is counted
   * @param address the client's address, if it is known
   */
  has(subject: string, address?: string): boolean {
    if (this.#subjects.has(subject)) return true;
    if (!this.#hasNetworks) return false;
    if (address !== undefined) return this.hasAddress(address);
    return subject.startsWith(IP_SUBJECT) && this.hasAddress(withoutPrefix(subject.slice(IP_SUBJECT.length)));
  }

  /** Whether an address is in one of the networks. IPv4 that is mapped into IPv6 is looked at as IPv4. */
  hasAddress(address: string): boolean {
    const plain = address.replace(/%.*$/s, '');
    const family = isIP(plain);
    return family !== 0 && this.#networks.check(plain, family === 6 ? 'ipv6' : 'ipv4');
  }

  #add(entry: string): void {
    const [address = '', prefix] = withoutKind(entry).split('/');
    const family = isIP(address);
    if (family === 0) {
      this.#subjects.add(entry);
      return;
    }
    this.#hasNetworks = true;
    this.#networks.addSubnet(address, prefix === undefined ? bitsOf(address) : Number(prefix), `ipv${family as 4 | 6}`);
  }

  /** What is told apart by its text. */
  toJSON(): readonly string[] {
    return this.entries;
  }
}

/** Whether a text can be an entry of a {@link SubjectList}: what looks like a network must be one. */
export function isListEntry(entry: unknown): entry is string {
  if (typeof entry !== 'string' || entry === '' || entry === IP_SUBJECT) return false;
  const text = withoutKind(entry);
  if (!NETWORK.test(text)) return isIP(text) !== 0 || !(entry.startsWith(IP_SUBJECT) || LIKE_IPV4.test(text));
  const [address = '', prefix = ''] = text.split('/');
  return isIP(address) !== 0 && /^\d{1,3}$/.test(prefix) && Number(prefix) <= bitsOf(address);
}

/** Whether a text is an address or a network. */
export function isNetwork(entry: unknown): entry is string {
  return isListEntry(entry) && isIP(entry.split('/')[0]!) !== 0;
}

function withoutKind(entry: string): string {
  return entry.startsWith(IP_SUBJECT) ? entry.slice(IP_SUBJECT.length) : entry;
}

/** Clients are counted by their IPv6 network; its first address stands for it. */
function withoutPrefix(network: string): string {
  return network.split('/')[0]!;
}

function bitsOf(address: string): number {
  return isIPv6(address) ? 128 : 32;
}
