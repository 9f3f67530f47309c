/** When this list was made. What came later is not in it. */
export const VERSIONS_AS_OF = '2026-11-30';

type Version = readonly [major: number, minor: number, patch: number];

/**
 * Of each flavour the latest advisory whose fixed versions are published, and the first version of each release line that has its fix, and
 * with it those of the advisories before. Sources: the record of CVE-2026-81934 at cve.org (CISA VA-26-239-01); GHSA-3885-pq5f-788j
 * of valkey-io/valkey.
 */
export const FIXED_VERSIONS: Readonly<
  Record<'redis' | 'valkey', { readonly advisory: string; readonly lines: readonly Version[] }>
> = {
  redis: {
    advisory: 'CVE-2026-81934',
    lines: [
      [6, 2, 24],
      [7, 2, 16],
      [7, 4, 11],
      [8, 2, 9],
      [8, 4, 6],
      [8, 6, 6],
      [8, 8, 2],
      [8, 10, 1],
    ],
  },
  valkey: {
    advisory: 'CVE-2026-130822',
    lines: [
      [7, 2, 16],
      [8, 0, 13],
      [8, 1, 12],
      [9, 0, 8],
      [9, 1, 4],
    ],
  },
};

/** What is known against a version, and how bad it is; `undefined` when nothing is. */
export function versionFault(
  flavour: 'redis' | 'valkey',
  version: string,
): { readonly severity: 'warn' | 'error'; readonly text: string; readonly fixed: string } | undefined {
  const [major, minor, patch] = version.split('.').map(Number) as [number, number, number];
  const { advisory, lines } = FIXED_VERSIONS[flavour];
  const line = lines.find((known) => known[0] === major && known[1] === minor);
  if (line !== undefined) {
    if (patch >= line[2]) return undefined;
    return { severity: 'error', text: `lacks the fix of ${advisory}, or of one before it`, fixed: line.join('.') };
  }
  const newest = lines.at(-1)!;
  const newer = major > newest[0] || (major === newest[0] && minor > newest[1]);
  if (newer) return undefined;
  return {
    severity: 'warn',
    text: `is of a line of which no version is known to have the fix of ${advisory}`,
    fixed: newest.join('.'),
  };
}
