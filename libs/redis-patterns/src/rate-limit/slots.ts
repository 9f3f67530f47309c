import { Deadline } from '../core/index.js';
import type { ConsumeCall, LimitStore, Mode, Ticket } from './limit-store.js';

/** What one script was asked, and said. */
export interface SlotAnswer {
  readonly tickets: readonly Ticket[];
  readonly reply: readonly number[];
}

/**
 * A decision over several hash slots: one script for each, the smallest limit first, as it is the one that refuses. What was
 * taken before a refusal is given back, and the rest is only looked at. So nobody is ever above a limit, but others may for a
 * moment see a charge that is then taken back; a process that dies in the middle leaves one.
 *
 * @returns what is known: without the slots that could not be looked at after a refusal
 * @throws what the store throws; what was taken is then given back in the background
 */
export async function decideAcross(
  store: LimitStore,
  slots: readonly (readonly Ticket[])[],
  mode: Mode,
  call: ConsumeCall & { deadline: number },
): Promise<SlotAnswer[]> {
  const deadline = Deadline.after(call.deadline);
  const ask = async (tickets: readonly Ticket[], how: Mode): Promise<SlotAnswer> => {
    const reply = await store.consume(tickets, how, { ...call, deadline: Math.max(1, deadline.remaining()) });
    return { tickets, reply };
  };
  const ordered = slots.toSorted((a, b) => smallestLimit(a) - smallestLimit(b));
  if (mode === 'peek') return Promise.all(ordered.map((tickets) => ask(tickets, mode)));
  const answers: SlotAnswer[] = [];
  const undo = (): Promise<unknown> => Promise.all(answers.map((answer) => giveBack(store, answer, call.leaseId)));
  for (const [index, tickets] of ordered.entries()) {
    const answer = await ask(tickets, mode).catch((error: unknown) => {
      void undo();
      throw error;
    });
    if (answer.reply[0]! > 0) {
      answers.push(answer);
      continue;
    }
    const looks = ordered.slice(index + 1).map((rest) => ask(rest, 'peek').catch(() => undefined));
    const [rest] = await Promise.all([Promise.all(looks), undo()]);
    return [...answers, answer, ...rest.filter((each) => each !== undefined)];
  }
  return answers;
}

/** Those that only watch come last: they count what is admitted. */
function smallestLimit(tickets: readonly Ticket[]): number {
  return Math.min(...tickets.map(({ policy }) => (policy.shadow ? Infinity : policy.limit)));
}

/** Never rejects: what cannot be given back stays charged. */
export async function giveBack(
  store: LimitStore,
  { tickets, reply }: SlotAnswer,
  leaseId: string | undefined,
): Promise<void> {
  // What only watches took nothing where it had no room.
  const taken = tickets.filter((ticket, index) => ticket.cost > 0 && reply[2 + index * 3] === 0);
  const counted = taken.filter(({ policy }) => policy.algorithm !== 'concurrency');
  const leased = taken.filter(({ policy }) => policy.algorithm === 'concurrency');
  const work: Promise<unknown>[] = leased.map((ticket) => store.lease('release', ticket, leaseId ?? ''));
  if (counted.length > 0) work.push(store.refund(counted, reply[1]));
  await Promise.allSettled(work);
}
