/** What goes over a channel: the payload alone, or with what is needed to notice that something is missing. */
export type Frame =
  | { readonly form: 'plain'; readonly payload: string }
  /** Of a sender that counts its messages. */
  | { readonly form: 'counted'; readonly sender: string; readonly count: number; readonly payload: string }
  /** Of reliable delivery: the message is kept under `id`, behind the one under `previous`. */
  | { readonly form: 'kept'; readonly previous: string; readonly id: string; readonly payload: string };

/** Comes before every id. */
export const NO_ID = '0-0';

// No JSON begins with these.
const COUNTED = '#';
const KEPT = '>';

export function countedFrame(sender: string, count: number, payload: string): string {
  return `${COUNTED}${sender}|${count}|${payload}`;
}

/** Reads a message; the script `publish` writes the form `kept`. */
export function readFrame(text: string): Frame {
  const mark = text.charAt(0);
  if (mark !== KEPT && mark !== COUNTED) return { form: 'plain', payload: text };
  const first = text.indexOf('|');
  const second = text.indexOf('|', first + 1);
  if (first < 0 || second < 0) return { form: 'plain', payload: text };
  const head = text.slice(1, first);
  const tail = text.slice(first + 1, second);
  const payload = text.slice(second + 1);
  if (mark === KEPT) return { form: 'kept', previous: head, id: tail, payload };
  return { form: 'counted', sender: head, count: Number(tail), payload };
}

/** Server time at which the message with that id was published; milliseconds since the epoch. */
export function timeOf(id: string): number {
  return Number(id.slice(0, id.indexOf('-')));
}
