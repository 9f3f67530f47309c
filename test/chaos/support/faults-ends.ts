import type { Expected } from './faults-app.js';

/** Ways in which calls end in the faults, and what each pattern then does: the table in docs/connections.md. */

/** Redis does not answer. */
export const NO_ANSWER =
  /^(unknown ERR_REDIS_(DEADLINE|CONNECTION_LOST)|not-sent ERR_REDIS_(BREAKER_OPEN|NOT_READY|DEADLINE))/;
/** Nothing can be sent, and the caller is told so without a wait. */
export const NOT_SENT = /^not-sent ERR_REDIS_(NOT_READY|BREAKER_OPEN)$/;

const WITHOUT_REDIS: Expected = {
  cache: /^ok loaded$/,
  limit: /^ok local$/,
  publish: /^(unknown|not-sent|refused) ERR_/,
  contender: /^ERR_LOCK_UNAVAILABLE$/,
};
export const UNANSWERED: Expected = { ...WITHOUT_REDIS, read: NO_ANSWER, once: NO_ANSWER, token: NO_ANSWER };
export const UNSENT: Expected = { ...WITHOUT_REDIS, read: NOT_SENT, once: NOT_SENT };

/** Redis answers every command with this error. */
export function refusedWith(reply: string): Expected {
  const end = refusal(reply);
  return { ...WITHOUT_REDIS, read: end, once: end, token: end };
}

/** Redis answers writes with this error, and serves reads. */
export function writesRefusedWith(reply: string): Expected {
  const end = refusal(reply);
  return { ...WITHOUT_REDIS, once: end, token: end, read: /^ok/, publish: end };
}

/** No call fails: the fault does not show. */
export const UNHARMED: Expected = {
  read: /^ok/,
  once: /^ok$/,
  token: /^ok$/,
  cache: /^ok/,
  publish: /^ok$/,
  lock: /^ok$/,
};

function refusal(reply: string): RegExp {
  return new RegExp(`^refused ERR_REDIS_(REFUSED|COMMAND|DEADLINE) ${reply}$`);
}
