/** When this list was made. What came later is not in it. */
export const VERSIONS_AS_OF = '2025-10-15';

type Version = readonly [major: number, minor: number, patch: number];

/**
 * Release lines that are known to get security fixes, each with its first version that has those of {@link ADVISORY}; other
 * lines, older than the newest one here, get none any more. From the release notes and security advisories of the projects.
 */
const MAINTAINED: Readonly<Record<'redis' | 'valkey', readonly Version[]>> = {
  redis: [
    [6, 2, 20],
    [7, 2, 11],
    [7, 4, 6],
    [8, 0, 4],
    [8, 2, 2],
  ],
  valkey: [
    [7, 2, 11],
    [8, 0, 6],
    [8, 1, 4],
  ],
};

/** Code execution through Lua scripts, and three faults beside it. */
const ADVISORY = 'CVE-2025-49844, CVE-2025-46817, CVE-2025-46818, CVE-2025-46819';

/** What is known against a version, and how bad it is; `undefined` when nothing is. */
export function versionFault(
  flavour: 'redis' | 'valkey',
  version: string,
): { readonly severity: 'warn' | 'error'; readonly text: string; readonly fixed: string } | undefined {
  const [major, minor, patch] = version.split('.').map(Number) as [number, number, number];
  const lines = MAINTAINED[flavour];
  const line = lines.find((known) => known[0] === major && known[1] === minor);
  if (line !== undefined) {
    if (patch >= line[2]) return undefined;
    return { severity: 'error', text: `is open to ${ADVISORY}`, fixed: line.join('.') };
  }
  const newest = lines.at(-1)!;
  const newer = major > newest[0] || (major === newest[0] && minor > newest[1]);
  if (newer) return undefined;
  return { severity: 'warn', text: 'is of a line that gets no security fixes any more', fixed: newest.join('.') };
}
