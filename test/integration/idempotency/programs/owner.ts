// A process that runs a function under a key, to be killed or stopped meanwhile.
import type { IdempotencyContext } from 'nestjs-redis-patterns';
import { onParent, programData, tellParent } from '../../../support/parent.js';
import type { PlainConnection } from '../../../support/topologies.js';
import { openIdempotency } from '../test-idempotency.js';

const { lease, ...setup } = programData<{ connection: PlainConnection; namespace: string; lease: number }>();
const { service } = await openIdempotency(setup);
let finish = (): void => undefined;
onParent('finish', () => finish());

const work = ({ signal, fence }: IdempotencyContext): Promise<string> =>
  new Promise((resolve) => {
    finish = () => {
      const code = (signal.reason as { code?: string } | undefined)?.code;
      void tellParent({ type: 'signal', aborted: signal.aborted, code });
      resolve('of the late owner');
    };
    void tellParent({ type: 'running', fence: String(fence) });
  });

onParent('run', ({ key }) => {
  void service
    .run(key as string, 'f', work, { lease })
    .then((result) => tellParent({ type: 'done', result }))
    .catch((error: unknown) => tellParent({ type: 'failed', error: String(error) }));
});
await tellParent({ type: 'ready' });
