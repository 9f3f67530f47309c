import fc from 'fast-check';

const PIECES: readonly string[] = [
  ...Array.from(':{}*?[]\\% ~^-"\'\n\r\0\u007f\u0085'),
  '%3A',
  '%z',
  '%n',
  '%v',
  '%h',
  '%s',
  '%uD800',
  '\ud800',
  '\udc00',
  '\u{1F511}',
  'é',
  'a',
  'b',
  '1',
  '::',
  '{a}',
  '{}',
];

/** Text made of what has a meaning somewhere: separators, tags, globs, our own escapes, controls, lone surrogates. */
export const hostileText = fc.oneof(
  { weight: 3, arbitrary: fc.array(fc.constantFrom(...PIECES), { maxLength: 8 }).map((pieces) => pieces.join('')) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 300 }) },
  { weight: 1, arbitrary: fc.constantFrom(...PIECES).map((piece) => piece.repeat(140)) },
);

/** An array key of hostile texts; the resource is any non-empty text. */
export const keyParts = fc
  .tuple(
    hostileText.filter((text) => text !== ''),
    hostileText,
    fc.array(hostileText, { maxLength: 3 }),
  )
  .map(([resource, part, rest]): [string, ...string[]] => (rest.length === 3 ? [resource] : [resource, part, ...rest]));
