// Every limiter that is compared by what it admits and keeps, on the same terms.
import { oursBy, oursStorage } from './ours.mjs';
import { expressStore, flexible, installed, nestLab } from './peers.mjs';

/** @param {any} ours @param {import('ioredis').Redis} client @param {import('./peers.mjs').Terms} terms @returns {Promise<import('./peers.mjs').Limiter[]>} */
export async function allLimiters(ours, client, terms) {
  return installed([
    ...['fixed', 'sliding', 'log', 'bucket'].map((policy) => oursBy(ours.service, policy)),
    oursStorage(ours.storage, terms),
    await flexible(client, terms),
    await expressStore(client, terms),
    await nestLab(client, terms),
  ]);
}
