import type { DoctorReport, Finding, FindingScope, PrefixReport } from '../doctor.report.js';
import { bytesText } from '../rules/rule.js';
import type { Rule } from '../rules/index.js';
import { formatDuration } from '../../core/index.js';

const MOST_PREFIXES = 20;

/** The report for people, worst first. */
export function reportText(report: DoctorReport): string {
  const open = report.findings.filter(({ accepted }) => accepted === undefined);
  const accepted = report.findings.filter((finding) => finding.accepted !== undefined);
  return [
    headline(report),
    ...report.target.unanswered.map(({ node, reason }) => `Not examined to the end: ${node} (${reason})`),
    ...open.map((finding) => `\n${findingText(finding)}`),
    ...(accepted.length === 0 ? [] : [`\nAccepted by the baseline:`, ...accepted.map(acceptedLine)]),
    ...(report.prefixes.length === 0 ? [] : [`\nKeys:`, ...prefixLines(report.prefixes)]),
    ...notCheckedLines(report),
    `\n${lastLine(report, open.length)}`,
  ].join('\n');
}

function headline({ target, sample, elapsedMs }: DoctorReport): string {
  const masters = target.mode === 'cluster' ? `, ${target.nodes.length} masters` : '';
  const margin =
    sample.margin === 0
      ? ''
      : ` (shares ±${(sample.margin * 100).toFixed(1)} %, prefixes rarer than 1 in ${Math.round(sample.keys / 4)} may be missing)`;
  const server = `${target.flavour} ${target.version} ${target.mode}${masters}`;
  return `${server}: ${sample.keys} of ${sample.of} keys looked at in ${(elapsedMs / 1000).toFixed(1)} s${margin}`;
}

function findingText({
  id,
  name,
  severity,
  scope,
  evidence,
  why,
  advice,
  commands = [],
  keys = [],
  lapsed,
}: Finding): string {
  return [
    `${severity.toUpperCase().padEnd(8)} ${id} ${name}${scopeText(scope)}`,
    `  found   ${evidence}`,
    `  why     ${why}`,
    `  do      ${advice}`,
    ...commands.map((command) => `          ${command}`),
    ...(keys.length === 0 ? [] : [`  keys    ${keys.join(', ')}`]),
    ...(lapsed === undefined ? [] : [`  note    the baseline accepted it until ${lapsed}`]),
  ].join('\n');
}

function scopeText({ node, db, prefix, group, subject, connection, owner }: FindingScope): string {
  const parts = [
    prefix,
    group && `group ${group}`,
    subject,
    connection,
    owner && `(${owner})`,
    db === undefined ? undefined : `db ${db}`,
    node && `on ${node}`,
  ];
  return parts
    .filter((part) => part !== undefined)
    .map((part) => `  ${part}`)
    .join('');
}

function acceptedLine({ id, name, scope, accepted }: Finding): string {
  const until = accepted?.until === undefined ? '' : ` until ${accepted.until}`;
  return `  ${id} ${name}${scopeText(scope)}: ${accepted?.why}${until}`;
}

function prefixLines(prefixes: readonly PrefixReport[]): string[] {
  const shown = prefixes.slice(0, MOST_PREFIXES);
  const width = Math.max(...shown.map(({ prefix }) => prefix.length));
  const lines = shown.map(({ prefix, class: workload, keys, noTtl, bytes, owner }) => {
    const size = `${(bytes / 1024).toFixed(0)} KB`;
    return `  ${prefix.padEnd(width)}  ${workload.padEnd(11)} ${String(keys).padStart(7)} keys ${String(noTtl).padStart(7)} without TTL ${size.padStart(10)}${owner === undefined ? '' : `  ${owner}`}`;
  });
  return prefixes.length > shown.length ? [...lines, `  and ${prefixes.length - shown.length} more`] : lines;
}

function notCheckedLines({ notChecked }: DoctorReport): string[] {
  if (notChecked.length === 0) return [];
  const byReason = new Map<string, string[]>();
  for (const { rule, reason } of notChecked) byReason.set(reason, [...(byReason.get(reason) ?? []), rule]);
  return ['\nNot checked:', ...[...byReason].map(([reason, rules]) => `  ${rules.join(' ')}: ${reason}`)];
}

function lastLine({ passed, notChecked }: DoctorReport, findings: number): string {
  const unchecked = new Set(notChecked.map(({ rule }) => rule)).size;
  return `${findings} findings, ${passed.length} rules passed, ${unchecked} not checked`;
}

/** All rules, a line each. */
export function rulesText(rules: readonly Rule[]): string {
  const width = Math.max(...rules.map(({ name }) => name.length));
  return rules
    .map(
      (rule) =>
        `${rule.id.padEnd(7)}  ${rule.name.padEnd(width)}  ${rule.severities.join('/').padEnd(14)}  ${whenText(rule)}`,
    )
    .join('\n');
}

/** One rule, with all that is known of it. */
export function explainText(rule: Rule): string {
  const limits = Object.entries(rule.limits).map(([name, value]) => `  --set ${rule.id}.${name}=${value}`);
  return [
    `${rule.id} ${rule.name} (${rule.severities.join(', ')})`,
    `  measured  ${rule.measured}`,
    `  finding   ${whenText(rule)}`,
    `  why       ${rule.why}`,
    `  do        ${rule.advice}`,
    ...(limits.length === 0 ? [] : ['Thresholds:', ...limits]),
  ].join('\n');
}

/** When there is a finding, with the default limits put in. */
export function whenText({ when, limits }: Rule): string {
  return when.replaceAll(/\{(\w+)\}( ms| bytes)?/g, (text, name: string, unit = '') => {
    const limit = limits[name];
    if (limit === undefined) return text;
    if (unit === ' ms') return formatDuration(limit);
    if (unit === ' bytes' && limit >= 1024) return bytesText(limit);
    return `${limit.toLocaleString('en-US', { maximumFractionDigits: 3 })}${unit}`;
  });
}
