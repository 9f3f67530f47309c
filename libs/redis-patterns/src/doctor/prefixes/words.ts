const WORD = /^[A-Za-z][A-Za-z0-9_.~-]{0,39}$/;
const DIGITS = /\d/g;
const HEX = /^(?=.*\d)[0-9a-f-]{8,}$/i;
/** As random tokens look: long, with small and capital letters and digits. */
const TOKEN = /^(?=.*[a-z])(?=.*[A-Z])(?=.*\d).{10,}$/;
const LONGEST_RUN = 24;

/** Whether a part of a key looks like a word of a program, rather than an id, an address, a token or a text. */
export function isWord(part: string): boolean {
  if (!WORD.test(part) || HEX.test(part) || TOKEN.test(part)) return false;
  if ((part.match(DIGITS)?.length ?? 0) > 3) return false;
  return part.split(/[_.~-]/).every((run) => run.length < LONGEST_RUN);
}

/** Parts of a key; tags do not count, as what is in them is the key's own. */
export function partsOf(name: string): string[] {
  return name.replaceAll(/[{}]/g, '').split(':');
}
