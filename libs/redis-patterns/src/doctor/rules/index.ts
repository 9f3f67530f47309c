import { applicationRules, lockRules } from './application.js';
import { commandRules } from './commands.js';
import { connectionRules } from './connections.js';
import { errorRules } from './errors.js';
import { evictionRules } from './eviction.js';
import { hitRateRules } from './hit-rate.js';
import { mixingRules } from './mixing.js';
import { persistenceRules } from './persistence.js';
import { replicationRules } from './replication.js';
import type { Rule } from './rule.js';
import { securityRules } from './security.js';
import { serverRules } from './server.js';
import { sizeRules } from './size.js';
import { streamRules } from './streams.js';
import { ttlRules } from './ttl.js';

export type { Found, Limits, Outcome, Rule } from './rule.js';

/** Every rule, in the order of the documentation. */
export const DOCTOR_RULES: readonly Rule[] = [
  ...ttlRules,
  ...sizeRules,
  ...commandRules,
  ...errorRules,
  ...evictionRules,
  ...mixingRules,
  ...persistenceRules,
  ...replicationRules,
  ...[...connectionRules, ...applicationRules].toSorted((one, other) => (one.id < other.id ? -1 : 1)),
  ...streamRules,
  ...lockRules,
  ...serverRules,
  ...securityRules,
  ...hitRateRules,
];

/** A rule by its id, in any case. */
export function ruleOf(id: string): Rule | undefined {
  return DOCTOR_RULES.find((rule) => rule.id === id.toUpperCase());
}
