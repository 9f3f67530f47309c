/** Labels and value of each sample of a metric, out of what Prometheus would be given. */
export function samples(text: string, name: string): [labels: Record<string, string>, value: number][] {
  const line = new RegExp(`^${name}(?:\\{(.*)\\})? (\\S+)$`, 'gm');
  return [...text.matchAll(line)].map(([, labels = '', value]) => [
    Object.fromEntries([...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, label, text]) => [label, text])),
    Number(value),
  ]);
}

/** Every sample: how many series there are. */
export function seriesCount(text: string): number {
  return text.split('\n').filter((line) => line !== '' && !line.startsWith('#')).length;
}
