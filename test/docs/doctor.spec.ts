import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { parseCommand, USAGE } from '../../libs/redis-patterns/src/doctor/cli/arguments.js';
import { whenText } from '../../libs/redis-patterns/src/doctor/cli/text.js';
import { resolveDoctorOptions } from '../../libs/redis-patterns/src/doctor/doctor.options.js';
import { DOCTOR_RULES } from '../../libs/redis-patterns/src/doctor/rules/index.js';
import { FIXED_VERSIONS, VERSIONS_AS_OF } from '../../libs/redis-patterns/src/doctor/rules/versions.js';

const PAGE = readFileSync(new URL('../../docs/doctor.md', import.meta.url), 'utf8');

/** The table of the catalogue, as the code says it. */
function expectedRows(): string[] {
  return DOCTOR_RULES.map((rule) => {
    const cells = [`\`${rule.id}\` ${rule.name}`, rule.severities.join(', '), whenText(rule), rule.advice];
    return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  });
}

describe('docs/doctor.md', () => {
  it('has the catalogue as it is in the code', () => {
    const rows = PAGE.split('\n').filter((line) => /^\| `[A-Z]+\d{3}` /.test(line));
    expect(rows).toEqual(expectedRows());
  });

  it('names every option of the command and of the service', () => {
    const flags = [...USAGE.matchAll(/--[a-z-]+/g)].map(([flag]) => flag);
    expect(flags.filter((flag) => !PAGE.includes(flag))).toEqual([]);
    const options = Object.keys(resolveDoctorOptions({}, 'the spec'));
    expect(options.filter((option) => !PAGE.includes(`\`${option}\``))).toEqual([]);
  });

  it('has the list of versions, with its day and its sources', () => {
    expect(PAGE).toContain(VERSIONS_AS_OF);
    for (const { advisory, lines } of Object.values(FIXED_VERSIONS)) {
      const row = PAGE.split('\n').find((line) => line.startsWith('|') && line.includes(advisory));
      expect(row).toContain(` ${lines.map((line) => line.join('.')).join(', ')} |`);
    }
  });

  it('shows commands that can be typed', () => {
    const lines = [...PAGE.matchAll(/^npx nestjs-redis-patterns (.*?)(?: #.*)?$/gm)].map(([, line]) => line!);
    expect(lines.length).toBeGreaterThan(2);
    for (const line of lines) expect(() => parseCommand(line.split(' '))).not.toThrow();
  });
});
