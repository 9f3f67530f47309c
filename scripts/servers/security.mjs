// @ts-check
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';

/**
 * @typedef {{ username: string, password: string }} User
 * @typedef {{ admin: User, app: User }} Users admin may do everything; app is what applications are given
 */

/** @returns {Users} with passwords of this run */
export function makeUsers() {
  const password = () => randomBytes(12).toString('hex');
  return { admin: { username: 'admin', password: password() }, app: { username: 'app', password: password() } };
}

/**
 * The lines that every kind of server shares: address, TLS, users.
 *
 * @param {import('./process.mjs').Runtime} runtime
 * @param {{ dir: string, port: number }} place
 * @param {readonly string[]} appRules ACL rules of the application's user
 * @returns {Promise<string[]>}
 */
export async function commonLines(runtime, { dir, port }, appRules = ['~*', '&*', '+@all']) {
  const lines = [
    'bind 127.0.0.1',
    'protected-mode no',
    'daemonize no',
    `dir ${quote(dir)}`,
    `pidfile ${quote(path.join(dir, 'server.pid'))}`,
  ];
  if (runtime.tls) {
    const files = {
      ca: path.join(dir, 'ca.crt'),
      cert: path.join(dir, 'server.crt'),
      key: path.join(dir, 'server.key'),
    };
    await writeFile(files.ca, runtime.tls.ca);
    await writeFile(files.cert, runtime.tls.cert);
    await writeFile(files.key, runtime.tls.key, { mode: 0o600 });
    lines.push('port 0', `tls-port ${port}`, 'tls-auth-clients no', 'tls-replication yes');
    lines.push(
      `tls-ca-cert-file ${quote(files.ca)}`,
      `tls-cert-file ${quote(files.cert)}`,
      `tls-key-file ${quote(files.key)}`,
    );
  } else {
    lines.push(`port ${port}`);
  }
  if (runtime.users) {
    const { admin, app } = runtime.users;
    // Off, but with its rules: Redis checks them when it loads transactions from an append-only file.
    lines.push('user default off ~* &* +@all', `user ${admin.username} on >${admin.password} ~* &* +@all`);
    lines.push(`user ${app.username} on >${app.password} ${appRules.join(' ')}`);
  }
  return lines;
}

/**
 * A path in a configuration file; temporary folders may hold spaces.
 *
 * @param {string} text
 */
export function quote(text) {
  return `"${text.replace(/[\\"]/g, '\\$&')}"`;
}

/**
 * The part of the connection options (and of a URL) that is about security.
 *
 * @param {import('./process.mjs').Runtime} runtime
 */
export function clientSecurity({ tls, users }) {
  const credentials = users ? { username: users.app.username, password: users.app.password } : {};
  return {
    options: { ...credentials, ...(tls && { tls: { ca: tls.ca } }) },
    scheme: tls ? 'rediss' : 'redis',
    login: users ? `${users.app.username}:${users.app.password}@` : '',
  };
}
