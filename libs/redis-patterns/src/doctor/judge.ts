import { withBaseline } from './baseline.js';
import type { ResolvedExamination } from './doctor.options.js';
import { reaches, SEVERITIES, type Finding, type Severity, type UncheckedRule } from './doctor.report.js';
import { isWord } from './prefixes/words.js';
import { DOCTOR_RULES, type Found, type Outcome, type Rule } from './rules/index.js';
import { Unknown, type Snapshot } from './snapshot.js';

export interface Verdict {
  readonly findings: readonly Finding[];
  readonly notChecked: readonly UncheckedRule[];
  readonly passed: readonly string[];
  readonly worst: Severity | null;
  readonly failed: boolean;
}

type JudgeOptions = Pick<ResolvedExamination, 'only' | 'skip' | 'rules' | 'baseline' | 'raw' | 'failOn'>;

/** Runs the rules over what was collected. Asks nobody, and gives the same for the same. */
export function judge(
  snapshot: Snapshot,
  options: JudgeOptions,
  today = new Date().toISOString().slice(0, 10),
): Verdict {
  const findings: Finding[] = [];
  const notChecked: UncheckedRule[] = [];
  const passed: string[] = [];
  for (const rule of chosenRules(options)) {
    const outcomes = outcomesOf(rule, snapshot, options);
    const reasons = new Set(outcomes.flatMap((outcome) => ('reason' in outcome ? [outcome.reason] : [])));
    const found = outcomes.flatMap((outcome) => ('reason' in outcome ? [] : [outcome]));
    notChecked.push(...[...reasons].map((reason) => ({ rule: rule.id, reason })));
    findings.push(...found.map((each) => withBaseline(toFinding(rule, each, options.raw), options.baseline, today)));
    if (outcomes.length === 0) passed.push(rule.id);
  }
  const open = findings.filter(({ accepted }) => accepted === undefined);
  return {
    findings: findings.toSorted(worstFirst),
    notChecked,
    passed,
    worst: SEVERITIES.findLast((severity) => open.some((finding) => finding.severity === severity)) ?? null,
    failed: open.some(({ severity }) => reaches(severity, options.failOn)),
  };
}

function chosenRules({ only, skip }: JudgeOptions): readonly Rule[] {
  const among = (ids: readonly string[], { id }: Rule): boolean => ids.some((each) => each.toUpperCase() === id);
  return DOCTOR_RULES.filter((rule) => (only === undefined || among(only, rule)) && !among(skip, rule));
}

function outcomesOf(rule: Rule, snapshot: Snapshot, { rules }: JudgeOptions): Outcome[] {
  const changed = Object.entries(rules).find(([id]) => id.toUpperCase() === rule.id)?.[1];
  const outcomes: Outcome[] = [];
  try {
    for (const outcome of rule.check(snapshot, { ...rule.limits, ...changed })) outcomes.push(outcome);
  } catch (error) {
    if (!(error instanceof Unknown)) throw error;
    outcomes.push({ reason: error.message });
  }
  return outcomes;
}

function toFinding(rule: Rule, { keys, scope, ...found }: Found, raw: boolean): Finding {
  const { id, name, why, advice } = rule;
  return {
    id,
    name,
    severity: found.severity,
    // The name of a group may be made at run time.
    scope: scope.group === undefined || raw || isWord(scope.group) ? scope : { ...scope, group: '*' },
    measured: found.measured,
    threshold: found.threshold,
    evidence: found.evidence,
    why,
    advice,
    ...(found.commands === undefined ? {} : { commands: found.commands }),
    ...(raw && keys !== undefined && keys.length > 0 ? { keys } : {}),
  };
}

function worstFirst(one: Finding, other: Finding): number {
  const byAcceptance = Number(one.accepted !== undefined) - Number(other.accepted !== undefined);
  if (byAcceptance !== 0) return byAcceptance;
  const bySeverity = SEVERITIES.indexOf(other.severity) - SEVERITIES.indexOf(one.severity);
  if (bySeverity !== 0) return bySeverity;
  const [left, right] = [one, other].map(({ id, scope }) => `${id} ${JSON.stringify(scope)}`);
  return left! < right! ? -1 : 1;
}
