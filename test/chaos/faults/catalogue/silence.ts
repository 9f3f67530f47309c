// Redis does not answer, or not soon: hung, paused, unreachable, slow.
import { eventually } from '../../../support/eventually.js';
import { NO_ANSWER, UNANSWERED, UNHARMED } from '../../support/faults-ends.js';
import { ALL_MODES, type Fault } from '../../support/faults-runner.js';

export const silence: readonly Fault[] = [
  {
    name: 'hung: SIGSTOP',
    modes: ALL_MODES,
    short: ALL_MODES,
    shows: UNANSWERED,
    cause: async ({ own }) => {
      for (const node of own.nodes) own.freeze(node);
      return () => own.nodes.forEach((node) => own.resume(node));
    },
  },
  {
    name: 'hung: DEBUG SLEEP',
    modes: ALL_MODES,
    short: [],
    shows: UNANSWERED,
    cause: async ({ onMasters }) => {
      const asleep = onMasters('DEBUG', 'SLEEP', 1.5);
      return () => asleep;
    },
  },
  {
    name: 'paused: CLIENT PAUSE ALL',
    modes: ALL_MODES,
    short: [],
    shows: UNANSWERED,
    cause: async ({ onMasters }) => {
      // It holds back UNPAUSE as well.
      await onMasters('CLIENT', 'PAUSE', 2500, 'ALL');
      return () => onMasters('PING');
    },
  },
  {
    name: 'paused: CLIENT PAUSE WRITE',
    modes: ALL_MODES,
    short: ['cluster'],
    shows: { once: NO_ANSWER, token: NO_ANSWER, limit: /^ok local$/, publish: /^(unknown|not-sent) ERR_/ },
    cause: async ({ onMasters }) => {
      await onMasters('CLIENT', 'PAUSE', 60_000, 'WRITE');
      return () => onMasters('CLIENT', 'UNPAUSE');
    },
  },
  {
    name: 'unreachable: a network that swallows bytes',
    modes: ALL_MODES,
    short: ['sentinel'],
    shows: UNANSWERED,
    cause: async ({ proxies }) => {
      await proxies.set('blackhole');
      return () => proxies.set('pass');
    },
  },
  {
    name: 'half-open connections, replaced while new ones work',
    modes: ALL_MODES,
    short: ['standalone', 'cluster'],
    shows: { once: NO_ANSWER, read: NO_ANSWER },
    cause: async ({ proxies }) => {
      await proxies.set('halfOpen');
    },
  },
  {
    name: 'slow: latency and jitter',
    modes: ALL_MODES,
    short: ['cluster'],
    shows: UNHARMED,
    only: { once: /^ok$/, token: /^ok$/, read: /^ok/ },
    cause: async ({ proxies }) => {
      await proxies.set('latency', { ms: 20, jitter: 15 });
      return () => proxies.set('pass');
    },
  },
  {
    name: 'slow: bytes that drip',
    modes: ALL_MODES,
    short: ['standalone'],
    cause: async ({ proxies }) => {
      await proxies.set('drip', { ms: 2, bytes: 7 });
      const dripped = () => proxies.proxies.reduce((sum, { bytesDown }) => sum + bytesDown, 0);
      const before = dripped();
      await eventually(() => dripped() > before + 1000);
      return () => proxies.set('pass');
    },
  },
];
