import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { command } from '../../scripts/servers/resp.mjs';

/** A pattern that has rules of its own in docs/connections.md, by the name of its options. */
export type AclPattern =
  | 'cache'
  | 'rateLimit'
  | 'lock'
  | 'stream'
  | 'idempotency'
  | 'leaderboard'
  | 'counting'
  | 'feed'
  | 'session'
  | 'token'
  | 'doctor'
  | 'pubsub';

/** A server that an administrator reaches without a password, as the shared ones are. */
interface OpenServer {
  readonly host: string;
  readonly port: number;
}

const DOCUMENT = new URL('../../docs/connections.md', import.meta.url);

/**
 * The `ACL SETUSER` lines of docs/connections.md, by the comment above them. The documentation is the only place that
 * says what a pattern may do: specs run with that, so that it can neither promise too much nor too little.
 */
export function documentedAcl(): ReadonlyMap<string, readonly string[]> {
  const [, section = ''] = readFileSync(DOCUMENT, 'utf8').split(/^## ACL$/m);
  const groups = new Map<string, string[]>();
  let lines: string[] = [];
  for (const line of section.split(/^## /m)[0]!.split('\n')) {
    if (line.startsWith('# ')) groups.set(line.slice(2), (lines = []));
    else if (line.startsWith('ACL SETUSER ')) lines.push(line);
  }
  return groups;
}

/** What the lines of these groups grant, for another namespace than that of the documentation. */
export function aclRules(groups: readonly string[], namespace: string): string[] {
  const documented = documentedAcl();
  return groups.flatMap((group) => {
    const lines = documented.get(group);
    if (lines === undefined) throw new Error(`docs/connections.md has no ACL lines under '# ${group}'`);
    const rules = lines.flatMap((line) => line.split(' ').slice(3));
    return rules
      .filter((rule) => !/^(reset|on|>.*)$/.test(rule))
      .map((rule) => rule.replace(/^([~&])shop:/, `$1${namespace}:`));
  });
}

/** What a pattern needs for a part of it that has to be chosen. */
export const ACL_EXTRAS: Partial<Record<AclPattern, readonly string[]>> = {
  cache: [
    'cache, with l1',
    'cache, with clear() or deletePattern(): SCAN shows the names of all keys',
    'cache, with tagIndex',
  ],
  lock: ['lock, with replicaAck'],
  session: ['session, with clear() or length() of the store: SCAN shows the names of all keys'],
  stream: ['stream, with replicaAck'],
  pubsub: ['pubsub, with patterns: each one literally as it is subscribed'],
};

/** The groups that apply to an application which uses all of these patterns. */
export function aclGroups(mode: string, patterns: readonly AclPattern[], { setinfo = false } = {}): string[] {
  return [
    'every connection',
    ...(mode === 'cluster' ? ['Cluster'] : []),
    ...(setinfo ? ['Redis 7.2 and newer'] : []),
    ...patterns.flatMap((pattern) => [pattern, ...(ACL_EXTRAS[pattern] ?? [])]),
  ];
}

/** The least-privileged user of a suite on the shared servers. */
export class SuiteUser {
  readonly credentials: { readonly username: string; readonly password: string };

  constructor(
    private readonly shared: { readonly mode: string; readonly nodes: readonly OpenServer[] },
    private readonly patterns: readonly AclPattern[],
    username: string,
  ) {
    this.credentials = { username, password: randomBytes(12).toString('hex') };
  }

  async create(namespace: string): Promise<void> {
    const { username, password } = this.credentials;
    await this.#everywhere('ACL', 'SETUSER', username, 'reset', 'on', `>${password}`);
    await this.allow(namespace);
  }

  /** Lets it use the patterns in that namespace, too. */
  async allow(namespace: string): Promise<void> {
    const info = String(await command(this.shared.nodes[0]!, ['INFO', 'server']));
    const [major = 0, minor = 0] = /redis_version:(\d+)\.(\d+)/.exec(info)?.slice(1).map(Number) ?? [];
    const setinfo = major > 7 || (major === 7 && minor >= 2);
    const rules = aclRules(aclGroups(this.shared.mode, this.patterns, { setinfo }), namespace);
    await this.#everywhere('ACL', 'SETUSER', this.credentials.username, ...rules);
  }

  /**
   * Removes it from all servers.
   *
   * @throws when it was refused anything: much of what ioredis and the library do on the side fails in silence
   */
  async remove(): Promise<void> {
    const { username } = this.credentials;
    const logs = (await this.#everywhere('ACL', 'LOG')) as unknown[][][];
    await this.#everywhere('ACL', 'DELUSER', username);
    const refused = logs
      .flat()
      .filter((entry) => entry[entry.indexOf('username') + 1] === username)
      .map((entry) => `${String(entry[entry.indexOf('reason') + 1])} ${String(entry[entry.indexOf('object') + 1])}`);
    if (refused.length > 0) {
      throw new Error(`Redis refused the user of ${this.patterns.join(', ')}: ${[...new Set(refused)].join('; ')}`);
    }
  }

  #everywhere(...args: readonly string[]): Promise<unknown[]> {
    return Promise.all(this.shared.nodes.map((node) => command(node, args)));
  }
}
