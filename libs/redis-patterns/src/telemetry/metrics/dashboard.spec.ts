import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { METRICS, type MetricName } from './table.js';

const PREFIX = 'redis_patterns_';
/** What Prometheus adds to the names of a histogram, and to the labels of everything. */
const PARTS = /_(?:bucket|count|sum)$/;
const ADDED = ['le', 'job'];

const read = (name: string): string => readFileSync(new URL(`../../../grafana/${name}`, import.meta.url), 'utf8');

/** Every expression of a dashboard. */
function dashboardExpressions(): string[] {
  const { panels } = JSON.parse(read('dashboard.json')) as { panels: { targets?: { expr: string }[] }[] };
  return panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
}

/** Every expression of the rules: on the line of `expr:`, or in the block below it. */
function alertExpressions(): string[] {
  return [...read('alerts.yml').matchAll(/expr: (?:\|\n((?: {10}.*\n)+)|(.*)\n)/g)].map(
    ([, block, line]) => block ?? line!,
  );
}

function metricsIn(expression: string): string[] {
  return [...expression.matchAll(/redis_patterns_\w+/g)].map(([name]) => {
    const short = name.slice(PREFIX.length);
    return Object.hasOwn(METRICS, short) ? short : short.replace(PARTS, '');
  });
}

/** Labels that are grouped by, and those that are compared. */
function labelsIn(expression: string): string[] {
  const grouped = [...expression.matchAll(/by \(([^)]*)\)/g)].flatMap(([, list]) => list!.split(', '));
  const compared = [...expression.matchAll(/[{,](\w+)=~?"/g)].map(([, label]) => label!);
  return [...grouped, ...compared].filter((label) => !ADDED.includes(label));
}

describe.each([
  ['the dashboard', dashboardExpressions()],
  ['the alert rules', alertExpressions()],
])('%s', (_, expressions) => {
  it('asks for metrics and labels that there are', () => {
    expect(expressions.length).toBeGreaterThan(8);
    for (const expression of expressions) {
      const names = metricsIn(expression);
      expect(names.length).toBeGreaterThan(0);
      for (const name of names) {
        expect(Object.keys(METRICS)).toContain(name);
        for (const label of labelsIn(expression)) expect(METRICS[name as MetricName].labels).toContain(label);
      }
    }
  });
});

it('has every metric, with all of its labels, in the documentation', () => {
  const page = readFileSync(new URL('../../../../../docs/observability.md', import.meta.url), 'utf8');
  for (const [name, { labels }] of Object.entries(METRICS)) {
    const row = page.split('\n').find((line) => line.startsWith('|') && line.includes(`\`${name}\``));
    expect({ name, row }).toEqual({ name, row: expect.any(String) });
    for (const label of labels) if (label !== 'connection') expect(row).toContain(`\`${label}\``);
  }
});

it('shows every metric on the dashboard', () => {
  expect(new Set(dashboardExpressions().flatMap(metricsIn))).toEqual(new Set(Object.keys(METRICS)));
});
