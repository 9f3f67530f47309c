import { z } from 'zod';
import type { Finding, FindingScope } from './doctor.report.js';

/** Findings that are known and accepted, as a file of the application holds them. */
export interface Baseline {
  accepted: readonly AcceptedFinding[];
}

export interface AcceptedFinding {
  /** Id of the rule. */
  rule: string;
  /** Where: only findings whose scope has all of this are accepted. Default: wherever it is found. */
  scope?: FindingScope;
  /** Last day, as `2027-03-31`. Default: for ever. */
  until?: string;
  /** Why it is accepted, for who reads the report. */
  why: string;
}

const scope = z.strictObject({
  node: z.string().optional(),
  db: z.number().optional(),
  prefix: z.string().optional(),
  group: z.string().optional(),
  subject: z.string().optional(),
  connection: z.string().optional(),
  owner: z.string().optional(),
});

export const baselineSchema: z.ZodType<Baseline> = z.strictObject({
  accepted: z.array(
    z.strictObject({
      rule: z.string(),
      scope: scope.optional(),
      until: z
        .string()
        .refine(
          (day) => /^\d{4}-\d{2}-\d{2}$/.test(day) && !Number.isNaN(Date.parse(day)),
          "must be a day, such as '2027-03-31'",
        )
        .optional(),
      why: z.string().min(1, 'says why the finding is accepted'),
    }),
  ),
}) as z.ZodType<Baseline>;

/** Marks a finding that the baseline accepts, or accepted until a day that has passed. */
export function withBaseline(finding: Finding, baseline: Baseline | undefined, today: string): Finding {
  const entries = baseline?.accepted.filter((entry) => fits(entry, finding)) ?? [];
  const valid = entries.find(({ until }) => until === undefined || until >= today);
  if (valid !== undefined) {
    const { why, until } = valid;
    return { ...finding, accepted: { why, ...(until === undefined ? {} : { until }) } };
  }
  const lapsed = entries.at(-1)?.until;
  return lapsed === undefined ? finding : { ...finding, lapsed };
}

function fits({ rule, scope: wanted = {} }: AcceptedFinding, { id, scope: found }: Finding): boolean {
  if (rule.toUpperCase() !== id) return false;
  return (Object.keys(wanted) as (keyof FindingScope)[]).every(
    (name) => wanted[name] === undefined || wanted[name] === found[name],
  );
}
