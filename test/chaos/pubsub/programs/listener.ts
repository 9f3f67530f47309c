import { Heard, openPubSub } from '../../../integration/pubsub/test-pubsub.js';
import { onParent, programData, tellParent } from '../../../support/parent.js';
import type { PlainConnection } from '../../../support/topologies.js';

export interface ListenerSetup {
  readonly connection: PlainConnection;
  readonly namespace: string;
}

// A process that listens to `plain` and to `kept`, and says what it was told when it is asked.
const { connection, namespace } = programData<ListenerSetup>();
const options = { channels: { kept: { delivery: 'reliable' as const } } };
const { pubsub } = await openPubSub(connection, namespace, options);
const heard = { plain: new Heard(), kept: new Heard() };
for (const [name, { onMessage, onGap }] of Object.entries(heard)) await pubsub.subscribe(name, onMessage, { onGap });
onParent('report', () => void tellParent({ type: 'report', plain: heard.plain.events, kept: heard.kept.events }));
await tellParent({ type: 'ready' });
