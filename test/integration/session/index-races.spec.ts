import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { PrincipalIndex } from '../../../libs/redis-patterns/src/session/principal-index.js';
import { SessionCommands, type Owner } from '../../../libs/redis-patterns/src/session/session-commands.js';
import { SessionData } from '../../../libs/redis-patterns/src/session/session-data.js';
import { addressOf, newSessionId } from '../../../libs/redis-patterns/src/session/session-id.js';
import { resolveSessionOptions } from '../../../libs/redis-patterns/src/session/session.options.js';
import { openEngine, type OpenEngine } from '../../support/engine.js';
import { describeOnEachTopology } from '../../support/topologies.js';

/** Lets something happen before entries are removed. */
class SlowToLeave extends SessionCommands {
  before: () => Promise<unknown> = () => Promise.resolve();

  override async leave(...args: Parameters<SessionCommands['leave']>): Promise<void> {
    await this.before();
    await super.leave(...args);
  }
}

const DAY = 86_400_000;

describeOnEachTopology('the index of a principal, step by step', { user: 'session' }, (topology) => {
  let engine: OpenEngine;
  let commands: SlowToLeave;
  let index: PrincipalIndex;
  beforeAll(async () => {
    engine = await openEngine(topology);
    commands = new SlowToLeave(engine.context);
    index = new PrincipalIndex(commands, new SessionData(resolveSessionOptions({}, 'the spec')), 100);
  });
  afterAll(() => engine?.close());

  const indexed = (principal: string): Promise<string[]> =>
    topology.admin.client.zrange(`${topology.namespace}:session-principal:${principal}`, '0', '-1');
  const address = () => addressOf(newSessionId())!;
  const create = (of: ReturnType<typeof address>, owner: Owner) =>
    commands.create(of, { idle: DAY, absolute: DAY }, owner, []);

  it('has a session that somebody looked for before it was there', async () => {
    const one = address();
    await index.enter('listed', one.handle, DAY, async (owner) => {
      expect(await index.list('listed')).toEqual([]);
      expect(await indexed('listed')).toEqual([]);
      return create(one, owner);
    });
    expect(await indexed('listed')).toEqual([one.handle]);
  });

  it('keeps an entry that was made anew since it was read', async () => {
    const one = address();
    let listing: Promise<unknown> | undefined;
    const ended = new Promise<void>((resolve) => {
      void index
        .enter('anew', one.handle, DAY, async (owner) => {
          await new Promise<void>((looked) => {
            commands.before = async () => {
              looked();
              await ended;
            };
            listing = index.list('anew');
          });
          return create(one, owner);
        })
        .then(() => resolve());
    });
    await ended;
    await listing;
    commands.before = () => Promise.resolve();
    expect(await indexed('anew')).toEqual([one.handle]);
  });

  it('lets no session begin whose entry somebody removed when all were ended', async () => {
    const one = address();
    const entering = index.enter('ended', one.handle, DAY, async (owner) => {
      expect(await index.endAll('ended', undefined)).toBe(0);
      return create(one, owner);
    });
    await expect(entering).rejects.toMatchObject({ code: 'ERR_SESSION_REVOKED' });
    expect([await commands.peek(one.handle, 'ended'), await indexed('ended')]).toEqual([null, []]);
  });
});
