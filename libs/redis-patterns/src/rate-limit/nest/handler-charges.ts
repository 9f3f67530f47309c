import type { ExecutionContext } from '@nestjs/common';
import type { ChargedDecision } from '../charge-ledger.js';
import { checkCost, type Charge } from '../charges.js';
import type { SubjectSource } from '../policy.js';
import type { Lease } from '../lease.js';
import type { RateLimitService } from '../rate-limit.service.js';
import { clientAddress } from './client-address.js';
import type { HandlerPlan, PlannedCharge } from './handler-plan.js';
import { ask, type LimitUse } from './limit-use.js';
import { requestOf } from './client-request.js';
import { requestSubject, type Client } from './request-subject.js';

/** What was decided about a request. */
export interface HandlerDecision extends ChargedDecision {
  readonly lease: Lease | null;
  /** What is to be given back if the request ends well. */
  readonly refundable: readonly Charge[];
}

interface Answers {
  readonly skip: boolean;
  readonly cost: number | undefined;
}

/**
 * Charges a request. Nothing when all of it is skipped.
 *
 * @throws RateLimitSubjectError when it cannot be told who is counted
 * @throws RateLimitUnavailableError as RateLimitService.consume
 */
export async function chargeRequest(
  plan: HandlerPlan,
  due: readonly PlannedCharge[],
  context: ExecutionContext,
  service: RateLimitService,
): Promise<HandlerDecision | undefined> {
  const wanted = await wantedCharges(plan, due, context);
  if (wanted.length === 0) return undefined;
  const client = clientOf(plan, wanted, context, service);
  const subjects = new Map<SubjectSource, string>();
  const charges: Charge[] = [];
  const refundable: Charge[] = [];
  for (const { policy, by, use, cost } of wanted) {
    let subject = subjects.get(by);
    if (subject === undefined) {
      subject = await requestSubject(by, plan.name, client, context, service);
      subjects.set(by, subject);
    }
    const charge = { policy, cost, subject };
    charges.push(charge);
    if (use?.countWhen === 'failure') refundable.push(charge);
  }
  const { address } = client;
  const options = { request: context, ...(address === undefined ? undefined : { address }) };
  if (charges.some(({ policy }) => plan.leased.has(policy.name))) {
    return { ...(await service.hold(charges, options)), charges, refundable };
  }
  return { result: await service.decide(charges, options), lease: null, charges, refundable };
}

async function wantedCharges(
  plan: HandlerPlan,
  due: readonly PlannedCharge[],
  context: ExecutionContext,
): Promise<(PlannedCharge & { cost: number })[]> {
  const answers = new Map<LimitUse, Answers>();
  const wanted = [];
  for (const charge of due) {
    const { policy, use } = charge;
    let answer = use === undefined ? undefined : answers.get(use);
    if (answer === undefined && use !== undefined) answers.set(use, (answer = await evaluate(use, plan.name, context)));
    if (answer?.skip !== true) wanted.push({ ...charge, cost: answer?.cost ?? policy.cost });
  }
  return wanted;
}

/** The address is looked for only where it matters. */
function clientOf(
  plan: HandlerPlan,
  wanted: readonly PlannedCharge[],
  context: ExecutionContext,
  service: RateLimitService,
): Client {
  const request = requestOf(context);
  const matters = plan.lists || wanted.some(({ by }) => typeof by !== 'function');
  return { request, address: matters ? clientAddress(request, service) : undefined };
}

async function evaluate({ skipIf, cost }: LimitUse, where: string, context: ExecutionContext): Promise<Answers> {
  if (skipIf !== undefined && (await ask(skipIf, [context])) === true) return { skip: true, cost: undefined };
  if (typeof cost !== 'function') return { skip: false, cost };
  return { skip: false, cost: checkCost(await ask(cost, [context]), `${where} with @RateLimit`) };
}
