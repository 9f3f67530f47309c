/** Number of hash slots of a Redis Cluster. */
export const SLOT_COUNT = 16_384;

// CRC-16/XMODEM (polynomial 0x1021, start value 0), the checksum that the Redis Cluster specification prescribes.
const TABLE: readonly number[] = Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8;
  for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1;
  return crc & 0xffff;
});

/**
 * Hash slot (0 to 16383) of a key, by the rules of the Redis Cluster specification: when the key holds a `{`, and the
 * first `}` behind it leaves something between them, only that counts. The client library's own computation is wrong
 * for a key with an empty tag and a later `}`; this one equals `CLUSTER KEYSLOT` for every key.
 *
 * @example
 * ```ts
 * slotOf('shop:lock:order:7') === slotOf('shop:lock~queue:{shop:lock:order:7}'); // true
 * ```
 */
export function slotOf(key: string): number {
  const text = hashedText(key);
  let crc = 0;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code > 0x7f) return slotOfBytes(Buffer.from(text));
    crc = ((crc << 8) & 0xffff) ^ TABLE[(crc >> 8) ^ code]!;
  }
  return crc % SLOT_COUNT;
}

/** Whether two keys are in one slot, at the cost of a comparison for keys that were made to be. */
export function inOneSlot(key: string, other: string): boolean {
  return hashedText(key) === hashedText(other) || slotOf(key) === slotOf(other);
}

function hashedText(key: string): string {
  const open = key.indexOf('{');
  if (open === -1) return key;
  const close = key.indexOf('}', open + 1);
  return close <= open + 1 ? key : key.slice(open + 1, close);
}

function slotOfBytes(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) crc = ((crc << 8) & 0xffff) ^ TABLE[(crc >> 8) ^ byte]!;
  return crc % SLOT_COUNT;
}
