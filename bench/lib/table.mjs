/** One table for each run of rows with the same columns. @param {readonly Record<string, string | number | null>[]} rows */
export function printTables(rows) {
  let group = /** @type {typeof rows[number][]} */ ([]);
  for (const row of rows) {
    if (group[0] && Object.keys(group[0]).join() !== Object.keys(row).join()) {
      printTable(group);
      process.stdout.write('\n');
      group = [];
    }
    group.push(row);
  }
  printTable(group);
}

/** @param {readonly Record<string, string | number | null>[]} rows */
function printTable(rows) {
  const columns = Object.keys(rows[0] ?? {}).filter((name) => name !== 'area');
  const cells = [columns, ...rows.map((row) => columns.map((name) => String(row[name] ?? '-')))];
  const widths = columns.map((_, i) => Math.max(...cells.map((line) => (line[i] ?? '').length)));
  const isText = columns.map((name) => typeof rows[0]?.[name] === 'string');
  for (const line of cells) {
    process.stdout.write(
      `${line.map((cell, i) => (isText[i] ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join('  ')}\n`,
    );
  }
}
