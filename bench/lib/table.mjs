/** @param {readonly Record<string, string | number>[]} rows */
export function printTable(rows) {
  const columns = Object.keys(rows[0] ?? {}).filter((name) => name !== 'area');
  const cells = [columns, ...rows.map((row) => columns.map((name) => String(row[name])))];
  const widths = columns.map((_, i) => Math.max(...cells.map((line) => (line[i] ?? '').length)));
  for (const line of cells) {
    process.stdout.write(
      `${line.map((cell, i) => (Number.isNaN(Number(cell)) ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join('  ')}\n`,
    );
  }
}
