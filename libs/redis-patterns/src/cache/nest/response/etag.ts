import { hash } from 'node:crypto';

/** A strong entity tag of a text: equal for equal texts only. */
export function digestOf(text: string): string {
  return `"${hash('sha256', text, 'base64url').slice(0, 22)}"`;
}

const ETAG = /(?:W\/)?("[^"]*")/g;

/**
 * Whether the client has the representation already: `If-None-Match` is `*`, or lists its tag. The comparison is weak, as
 * RFC 9110 (13.1.2) wants it.
 */
export function isNotModified(ifNoneMatch: string | string[] | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined || etag === '') return false;
  const text = String(ifNoneMatch);
  if (text.trim() === '*') return true;
  const opaque = etag.startsWith('W/') ? etag.slice(2) : etag;
  for (const [, tag] of text.matchAll(ETAG)) if (tag === opaque) return true;
  return false;
}
