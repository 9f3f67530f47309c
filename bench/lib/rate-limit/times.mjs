import { round } from '../measure.mjs';

/**
 * Rows that are compared with another arm than raw, in the column `name`.
 *
 * @param {{ arm: string, callers: number, opsPerSecond: number, ratioToRaw: number }[]} rows
 * @param {string} base name of that arm; without it (a peer that is not installed) nothing is compared
 * @param {string} name
 */
export function timesArm(rows, base, name) {
  return rows.map(({ ratioToRaw: _none, ...row }) => {
    const other = rows.find(({ arm, callers }) => arm === base && callers === row.callers);
    return { ...row, [name]: other ? round(row.opsPerSecond / other.opsPerSecond) : null };
  });
}
