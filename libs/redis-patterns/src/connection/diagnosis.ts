import { createConnection, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions as TlsOptions } from 'node:tls';
import type { HostPort } from './connection-url.js';

/** Longest time that one look may take, milliseconds. */
const TIMEOUT = 1000;
const TLS_FAULTS =
  /self[- ]signed|unable to (?:verify|get)|certificate|altname|CERT_|ERR_TLS|wrong version number|ERR_SSL|packet length too long/i;

/** Whether an error is about TLS itself: certificates, versions, a peer that does not speak it. */
export function isTlsFault(error: Error): boolean {
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
 * the other does not, which certificate is at fault, whether the server is loading. It looks once, with a socket of its own.
 */
export async function diagnose(address: HostPort, tls: TlsOptions | undefined): Promise<Diagnosis> {
  const end = await greet(() =>
    tls === undefined ? createConnection({ ...address }) : connectTls({ ...address, ...tls }),
  );
  if (typeof end !== 'string') return isTlsFault(end) ? { tls: end.message } : { trouble: end.message };
  if (end === 'dropped') {
    // A server that waits for a handshake drops whoever begins with anything else, without a word.
    return tls === undefined ? { tls: 'the server seems to speak TLS only' } : {};
  }
  // Redis takes a TLS greeting for the beginning of a command, and waits for the rest.
  if (end === 'silent') return tls === undefined ? {} : { tls: 'the server seems not to speak TLS' };
  return end.startsWith('-LOADING') ? { trouble: end.slice(1) } : {};
}

/** Opens a socket, says PING and tells what came of it: the first line of an answer, or how it ended. */
function greet(open: () => Socket): Promise<string | Error> {
  return new Promise((resolve) => {
    const socket = open();
    let connected = false;
    const end = (how: string | Error): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(how);
    };
    const timer = setTimeout(() => end(connected ? 'silent' : new Error('no answer')), TIMEOUT).unref();
    socket.on('connect', () => (connected = true));
    socket.on('error', (error) => end(error));
    socket.on('data', (data) => end(data.toString().split('\r\n')[0]!));
    socket.on('close', () => end(connected ? 'dropped' : new Error('no answer')));
    socket.write('PING\r\n');
  });
}
