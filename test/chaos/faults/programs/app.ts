// An application under load that a spec troubles: it makes every kind of call all the time, and says how they end.
import { openEngine } from '../../../support/engine.js';
import { programData } from '../../../support/parent.js';
import { answerParent } from '../../support/faults-answers.js';
import { BusyApplication, COMMAND_TIMEOUT } from '../../support/faults-calls.js';
import type { AppSetup } from '../../support/faults-app.js';

const { connection, namespace, closeTimeout } = programData<AppSetup>();
let password = 'password' in connection ? connection.password : undefined;
const engine = await openEngine(
  // A function, as of a secret store: a new password needs no restart.
  { namespace, connection: connection.password === undefined ? connection : { ...connection, password: undefined } },
  { commandTimeout: COMMAND_TIMEOUT, closeTimeout, ...(password === undefined ? {} : { password: () => password! }) },
);
const app = new BusyApplication(engine);
await app.consume();
const realNow = Date.now;

await answerParent({
  begin: ({ atOnce }) => app.begin({ atOnce: atOnce === true }),
  mark: () => app.mark(),
  tally: () => app.load.sinceMark,
  unhandled: ({ sinceMark }) => app.unhandled({ sinceMark: sinceMark === true }),
  stop: () => app.load.stop(10_000),
  check: ({ found }) => app.check(found as { written: string[]; published: string[] }),
  password: ({ value }) => void (password = String(value)),
  stall: async ({ ms }) => {
    // Their replies come while nobody listens, and after most of the deadlines.
    app.load.burst();
    // Commands of one turn of the event loop may be written together at its end.
    await new Promise((resolve) => setImmediate(resolve));
    const end = performance.now() + Number(ms);
    while (performance.now() < end);
  },
  clock: ({ by }) => void (Date.now = () => realNow() + Number(by)),
  close: async () => {
    const appBegan = performance.now();
    await app.close();
    const began = performance.now();
    await engine.close();
    return { app: began - appBegan, connection: performance.now() - began };
  },
});
