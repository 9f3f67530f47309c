// @ts-check

/**
 * @typedef {object} Certificates PEM texts
 * @property {string} ca the authority to trust
 * @property {string} cert of the server, for 127.0.0.1, ::1 and localhost; good as a client certificate, too
 * @property {string} key of the server
 */

const DAY = 86_400_000;

/**
 * Makes an authority and a certificate signed by it, for this run only.
 *
 * `selfsigned` is imported when it is needed: servers without TLS must start before any package is installed.
 *
 * @returns {Promise<Certificates>}
 */
export async function makeCertificates() {
  const { generate } = await import('selfsigned');
  const validity = { notBeforeDate: new Date(Date.now() - DAY), notAfterDate: new Date(Date.now() + 30 * DAY) };
  const common = { ...validity, keyType: /** @type {const} */ ('ec'), algorithm: 'sha256' };
  const authority = await generate([{ name: 'commonName', value: 'Test authority' }], {
    ...common,
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', keyCertSign: true, cRLSign: true, critical: true },
    ],
  });
  const server = await generate([{ name: 'commonName', value: 'localhost' }], {
    ...common,
    ca: { key: authority.private, cert: authority.cert },
    extensions: [
      { name: 'basicConstraints', cA: false },
      { name: 'keyUsage', digitalSignature: true },
      { name: 'extKeyUsage', serverAuth: true, clientAuth: true },
      {
        name: 'subjectAltName',
        altNames: [
          { type: 2, value: 'localhost' },
          { type: 7, ip: '127.0.0.1' },
          { type: 7, ip: '::1' },
        ],
      },
    ],
  });
  return { ca: authority.cert, cert: server.cert, key: server.private };
}
