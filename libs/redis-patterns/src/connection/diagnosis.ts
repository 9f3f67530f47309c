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

/**
 * Finds out what ioredis does not say of a server that it cannot talk to: whether one of the two speaks TLS and the other
 * does not, or which certificate is at fault. It looks once, with a socket of its own.
 *
 * @returns what is wrong with TLS; `undefined` when that is not the trouble
 */
export async function diagnoseTls(address: HostPort, tls: TlsOptions | undefined): Promise<string | undefined> {
  if (tls === undefined) {
    // A server that waits for a handshake drops a client that begins with anything else, without a word.
    const end = await greet(() => createConnection({ ...address }));
    return end === 'dropped' ? 'the server seems to speak TLS only' : undefined;
  }
  const end = await greet(() => connectTls({ ...address, ...tls }));
  if (end instanceof Error) return isTlsFault(end) ? end.message : undefined;
  // Redis takes a TLS greeting for the beginning of a command, and waits for the rest.
  return end === 'silent' ? 'the server seems not to speak TLS' : undefined;
}

/** Opens a socket, says PING and tells how that ended. */
function greet(open: () => Socket): Promise<'answered' | 'dropped' | 'silent' | Error> {
  return new Promise((resolve) => {
    const socket = open();
    let connected = false;
    const end = (how: 'answered' | 'dropped' | 'silent' | Error): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(how);
    };
    const timer = setTimeout(() => end('silent'), TIMEOUT).unref();
    socket.on('connect', () => (connected = true));
    socket.on('error', (error) => end(error));
    socket.on('data', () => end('answered'));
    socket.on('close', () => end(connected ? 'dropped' : new Error('not connected')));
    socket.write('PING\r\n');
  });
}
