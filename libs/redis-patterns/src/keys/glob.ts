/**
 * Escapes text so that a Redis glob (`SCAN MATCH`, `PSUBSCRIBE`) matches exactly that text.
 *
 * @example
 * ```ts
 * `${escapeGlob(keys.prefix('cache') + 'a[1]:')}*`; // 'shop:cache:a\\[1\\]:*'
 * ```
 */
export function escapeGlob(text: string): string {
  return text.replace(/[*?[\]\\]/g, '\\$&');
}
