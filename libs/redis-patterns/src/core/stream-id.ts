/** Orders ids of stream entries: below 0, 0 or above 0, as the first comes before, is, or comes after the second. */
export function compareIds(a: string, b: string): number {
  const [aMs, aSeq = '0'] = a.split('-');
  const [bMs, bSeq = '0'] = b.split('-');
  return compareNumbers(aMs!, bMs!) || compareNumbers(aSeq, bSeq);
}

/** Decimal texts without leading zeros, of any length: the second part may be above what a number keeps exactly. */
function compareNumbers(a: string, b: string): number {
  if (a.length !== b.length) return a.length - b.length;
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
