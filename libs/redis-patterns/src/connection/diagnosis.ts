import { createConnection, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions as TlsOptions } from 'node:tls';
import type { HostPort } from './connection-url.js';

/** Longest time that one look may take, milliseconds. */
const TIMEOUT = 1000;
const TLS_FAULTS =
  /self[- ]signed|unable to (?:verify|get)|certificate|altname|CERT_|ERR_TLS|wrong version number|ERR_SSL|packet length too long/i;

/** What a server says of a handshake that this side has broken off, as ioredis does with sockets it does not need. */
const BROKEN_OFF = /alert decode error/i;

/** Whether an error is about TLS itself: certificates, versions, a peer that does not speak it. */
export function isTlsFault(error: Error): boolean {
  if (BROKEN_OFF.test(error.message)) return false;
  return TLS_FAULTS.test(error.message) || ('code' in error && TLS_FAULTS.test(String(error.code)));
}

export interface Diagnosis {
  /** What is wrong with TLS. */
  readonly tls?: string;
  /** Why the server does not serve, in its own words or those of the operating system. */
  readonly trouble?: string;
}

/**
 * Finds out what ioredis does not say of a server that it does not get ready with: whether one of the two speaks TLS and
 * the other does not, which certificate is at fault, whether the server is loading. It looks once, with sockets of its own.
 * What it calls a fault of TLS it has seen: a server that hangs, or a proxy without a backend, looks much the same.
 */
export async function diagnose(address: HostPort, tls: TlsOptions | undefined): Promise<Diagnosis> {
  const plain = () => createConnection({ ...address });
  if (tls === undefined) {
    const { line, error } = await greet(plain);
    if (line !== undefined) return line.startsWith('-LOADING') ? { trouble: line.slice(1) } : {};
    const { secure } = await greet(() => connectTls({ ...address, rejectUnauthorized: false }));
    if (secure) return { tls: 'the server speaks TLS only' };
    return error === undefined ? {} : { trouble: error.message };
  }
  const { line, secure, error } = await greet(() => connectTls({ ...address, ...tls }));
  if (error !== undefined && isTlsFault(error)) return { tls: error.message };
  if (line?.startsWith('-LOADING')) return { trouble: line.slice(1) };
  // Redis takes a TLS greeting for the beginning of a command, and waits for the rest.
  if (!secure && (await greet(plain)).line !== undefined) return { tls: 'the server does not speak TLS' };
  return error === undefined ? {} : { trouble: error.message };
}

interface Greeting {
  /** First line of the answer. */
  readonly line?: string;
  /** Whether a TLS handshake succeeded. */
  readonly secure: boolean;
  readonly error?: Error;
}

/** Opens a socket, says PING and tells what came of it. */
function greet(open: () => Socket): Promise<Greeting> {
  return new Promise((resolve) => {
    const socket = open();
    let secure = false;
    const end = (how: Omit<Greeting, 'secure'> = {}): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve({ ...how, secure });
    };
    const timer = setTimeout(end, TIMEOUT).unref();
    socket.on('secureConnect', () => (secure = true));
    socket.on('error', (error) => end({ error }));
    socket.on('data', (data) => end({ line: data.toString().split('\r\n')[0]! }));
    socket.on('close', () => end());
    socket.write('PING\r\n');
  });
}
