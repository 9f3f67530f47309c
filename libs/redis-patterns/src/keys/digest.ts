import { hash } from 'node:crypto';

/** First 22 base64url characters (132 bits) of the SHA-256 of a text: too many bits for anybody to find two equal ones. */
export function digest(text: string): string {
  return hash('sha256', text, 'base64url').slice(0, 22);
}
