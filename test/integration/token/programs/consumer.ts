// A process that consumes a token many times at once. It ends by being killed.
import { TokenService } from 'nestjs-redis-patterns';
import { resolveTokenOptions } from '../../../../libs/redis-patterns/src/token/token.options.js';
import { openEngine } from '../../../support/engine.js';
import { onParent, tellParent } from '../../../support/parent.js';
import type { PlainConnection } from '../../../support/topologies.js';

interface Setup {
  readonly connection: PlainConnection;
  readonly namespace: string;
}

let tokens: TokenService | undefined;

async function open(setup: Setup): Promise<void> {
  const { context } = await openEngine(setup);
  tokens = new TokenService(context, resolveTokenOptions({}, 'the program'));
  await tellParent({ type: 'opened' });
}

async function consume(token: string, times: number): Promise<void> {
  const payloads = await Promise.all(Array.from({ length: times }, () => tokens!.consume('reset', token)));
  await tellParent({ type: 'consumed', payloads: payloads.filter(Boolean) });
}

onParent('open', ({ setup }) => void open(setup as Setup));
onParent('consume', ({ token, times }) => void consume(token as string, times as number));
await tellParent({ type: 'ready' });
