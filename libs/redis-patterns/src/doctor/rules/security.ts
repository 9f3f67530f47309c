import { known, Unknown } from '../snapshot.js';
import { defineRule, eachNode, type Outcome } from './rule.js';
import { versionFault, VERSIONS_AS_OF } from './versions.js';

const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|::1)$/i;

const open = defineRule({
  id: 'SEC001',
  name: 'open',
  severities: ['critical'],
  measured: 'a socket without credentials; CONFIG GET protected-mode',
  when: 'who gives no credentials is served, and protected-mode is off or the doctor came from another host',
  why: 'Whoever reaches the port reads and writes everything, and may run code.',
  advice: 'Give the default user a password or switch it off, and give each application an ACL user.',
  limits: {},
  *check(snapshot) {
    yield* eachNode(snapshot, function* (node) {
      if (!known(node.open)) return;
      const local = LOOPBACK.test(node.node.slice(0, node.node.lastIndexOf(':')));
      // From another host it was served in spite of whatever protects it.
      if (local && known(node.config).get('protected-mode') !== 'no') return;
      yield {
        severity: 'critical',
        scope: { node: node.node },
        measured: 'no password',
        threshold: 'a password',
        evidence: local
          ? 'the default user has no password, and protected-mode is off'
          : 'the default user has no password',
        commands: ['ACL SETUSER default >…'],
      };
    });
  },
});

const defaultUser = defineRule({
  id: 'SEC002',
  name: 'default-user',
  severities: ['warn'],
  measured: 'ACL WHOAMI',
  when: 'this connection is the default user',
  why: 'It may do everything: FLUSHALL, CONFIG, keys of others.',
  advice: 'A user for each purpose, as in docs/connections.md.',
  limits: {},
  *check(snapshot) {
    yield* eachNode(snapshot, function* (node) {
      if (known(node.user) !== 'default') return;
      const scope = { node: node.node };
      yield {
        severity: 'warn',
        scope,
        measured: 'default',
        threshold: 'a user of its own',
        evidence: 'connected as the default user',
      };
    });
  },
});

const plainText = defineRule({
  id: 'SEC003',
  name: 'plain-text',
  severities: ['warn'],
  measured: 'the connection',
  when: 'the connection has no TLS, to another host',
  why: 'Passwords and values can be read on the way.',
  advice: 'Use rediss://; or say tls: false where the network is trusted.',
  limits: {},
  *check({ plainText: warning }) {
    if (warning === undefined) return;
    yield {
      severity: 'warn',
      scope: {},
      measured: 'plain text',
      threshold: 'TLS',
      evidence: 'no TLS, and the server is another host',
    };
  },
});

const version = defineRule({
  id: 'SEC004',
  name: 'version',
  severities: ['warn', 'error'],
  measured: `INFO server: version, against a list of ${VERSIONS_AS_OF}`,
  when: 'no version of the release line is known to have the latest security fixes, or this one lacks some (error)',
  why: 'Known faults stay open.',
  advice: 'Upgrade, unless your distribution has put the fixes into the old version.',
  limits: {},
  *check(snapshot) {
    yield* eachNode(snapshot, function* (node): Generator<Outcome> {
      const info = known(node.info);
      if (info.flavour === 'unknown' || info.version === '') throw new Unknown('INFO does not tell the version');
      const fault = versionFault(info.flavour, info.version);
      if (fault === undefined) return;
      yield {
        severity: fault.severity,
        scope: { node: node.node },
        measured: info.version,
        threshold: fault.fixed,
        evidence: `${info.flavour} ${info.version} ${fault.text} (list of ${VERSIONS_AS_OF})`,
      };
    });
  },
});

export const securityRules = [open, defaultUser, plainText, version];
