// @ts-check
// Defaults as people write them (`Default 30 s.`) and as schemas have them (30000).

const DURATION_UNITS = {
  ms: 1,
  s: 1_000,
  min: 60_000,
  m: 60_000,
  h: 3_600_000,
  days: 86_400_000,
  day: 86_400_000,
  d: 86_400_000,
};
const BYTE_UNITS = { b: 1, kb: 1024, kib: 1024, mb: 1024 ** 2, mib: 1024 ** 2, gb: 1024 ** 3 };
const SAID = [
  /Default:? (`[^`]+`|.+?)(?=\.(?:\s|$)|[;:(]|,(?!\d)|$)/,
  /(`[^`]+`)(?:, the default| \(default\))/,
  /(\S+), the default/,
];
/** A sentence that says nothing but the default. */
const ONLY_DEFAULT = /(?:^| )Default:? (`[^`]+`|[^`.;:,()]+(?:\.\d+)?)\.(?= |$)/;

/**
 * What the TSDoc of an option says its default is.
 *
 * @param {string} text
 * @returns {string | undefined}
 */
export function saidDefault(text) {
  const found = SAID.map((pattern) => pattern.exec(text)?.[1]).find((match) => match !== undefined);
  return found?.trim();
}

/**
 * The default, if a sentence says only that.
 *
 * @param {string} text
 * @returns {string | undefined}
 */
export function simpleDefault(text) {
  return ONLY_DEFAULT.exec(text)?.[1];
}

/** @param {string} text */
export function withoutDefault(text) {
  return text.replace(ONLY_DEFAULT, '').trim();
}

/**
 * Whether a text and the value of a schema can both be true; texts that are no value ("as the URL says") always can.
 *
 * @param {string} said
 * @param {unknown} value
 */
export function agree(said, value) {
  const plain = said.replaceAll('`', '').replace(/^'(.*)'$/, '$1');
  if (typeof value === 'boolean') return !/^(true|false)$/.test(plain) || plain === String(value);
  if (typeof value !== 'number')
    return typeof value !== 'string' || !/^'.*'$/.test(said.replaceAll('`', '')) || plain === value;
  const [, number, unit = ''] = /^(\d[\d _,]*(?:\.\d+)?) ?([A-Za-z]*)/.exec(plain) ?? [];
  if (number === undefined) return true;
  const count = Number(number.replace(/[ _,]/g, ''));
  const factors = [...Object.entries(DURATION_UNITS), ...Object.entries(BYTE_UNITS)].filter(
    ([name]) => name === unit.toLowerCase(),
  );
  return count === value || factors.some(([, factor]) => count * factor === value);
}

/**
 * The value of a schema, with its unit.
 *
 * @param {unknown} value
 * @param {string} type as it is written in the source
 * @returns {string | undefined} undefined for what is no plain value
 */
export function formatDefault(value, type) {
  if (typeof value === 'string') return `'${value}'`;
  if (typeof value === 'boolean') return String(value);
  if (typeof value === 'number') return formatNumber(value, type);
  if (Array.isArray(value))
    return value.every((item) => typeof item === 'string')
      ? `[${value.map((item) => `'${item}'`).join(', ')}]`
      : undefined;
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype)
    return undefined;
  const members = Object.entries(value).map(([name, inner]) => {
    const [, own = 'number'] = new RegExp(`\\b${name}\\??: (\\w+)`).exec(type) ?? [];
    const text = formatDefault(inner, own);
    return text === undefined ? undefined : `${name}: ${text}`;
  });
  return members.length > 0 && members.every(Boolean) ? `{ ${members.join(', ')} }` : undefined;
}

/**
 * @param {number} value
 * @param {string} type
 */
function formatNumber(value, type) {
  if (value === Infinity) return undefined;
  if (/\bDuration\b/.test(type))
    return inUnits(value, { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }, 'ms');
  if (/\bByteSize\b/.test(type)) return inUnits(value, { b: 1, kb: 1024, mb: 1024 ** 2, gb: 1024 ** 3 }, 'b');
  return String(value);
}

/**
 * @param {number} value
 * @param {Record<string, number>} units
 * @param {string} smallest
 */
function inUnits(value, units, smallest) {
  if (value === 0) return '0';
  const unit = Object.keys(units).findLast((name) => value % (units[name] ?? 1) === 0) ?? smallest;
  return `'${value / (units[unit] ?? 1)}${unit}'`;
}
