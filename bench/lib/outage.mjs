// A server of its own that dies or hangs, and every client in a process of its own that goes on calling it. All clients go
// through the same outage at the same time, since one after the other would take minutes.
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { startProgram, stopProgram } from '../../scripts/bootstrap/processes.mjs';
import { startTopology } from '../../scripts/servers/index.mjs';

const PROGRAM = fileURLToPath(new URL('./outage-caller.mjs', import.meta.url));

/** @typedef {{ callers: number, callMs: number, boundMs: number, healMs: number }} OutagePlan `boundMs`: a call that takes longer counts as one that hangs */

/**
 * @param {'dead' | 'hung'} kind
 * @param {readonly string[]} clients
 * @param {OutagePlan} plan
 */
export async function outage(kind, clients, plan) {
  const topology = await startTopology('standalone');
  const programs = [];
  try {
    const server = await topology.primary();
    for (const client of clients) {
      const args = [JSON.stringify({ client, url: topology.url, ...plan })];
      const child = startProgram(PROGRAM, { args });
      programs.push({ client, child, next: reader(client, child) });
    }
    await all(programs, 'ready');
    if (kind === 'dead') await topology.kill(server);
    else topology.freeze(server);
    tell(programs, 'begin');
    const during = await all(programs, 'outage');
    tell(programs, 'heal');
    const heal = async () => {
      if (kind === 'dead') await topology.restart(server);
      else topology.resume(server);
      return now();
    };
    // Listening begins before the server answers: a client may be back at once.
    const [after, answeredAt] = await Promise.all([all(programs, 'back'), heal()]);
    return programs.map(({ client }, i) => ({
      arm: client,
      ...during[i],
      // The server answered before we saw that it did: a client may have been first.
      backMs: after[i].at === null ? null : Math.max(0, Math.round(after[i].at - answeredAt)),
    }));
  } finally {
    await Promise.all(programs.map(({ child }) => stopProgram(child, 1000)));
    await topology.stop();
  }
}

/** Milliseconds that processes of one machine have in common. */
export function now() {
  return performance.timeOrigin + performance.now();
}

function tell(programs, type) {
  for (const { child } of programs) child.send({ type });
}

function all(programs, type) {
  return Promise.all(programs.map(({ next }) => next(type)));
}

/** Gives the messages of a program one by one, and rejects when it ends instead. */
function reader(client, child) {
  return async (type) => {
    const controller = new AbortController();
    const { signal } = controller;
    try {
      return await Promise.race([
        once(child, 'message', { signal }).then(([message]) => {
          if (message.type !== type) throw new Error(`${client}: ${message.type} instead of ${type}`);
          return message.value;
        }),
        once(child, 'exit', { signal }).then(([code]) => {
          throw new Error(`${client}: its process ended with ${code} before '${type}'`);
        }),
      ]);
    } finally {
      controller.abort();
    }
  };
}
