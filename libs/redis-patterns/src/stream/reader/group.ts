import { compareIds } from '../../core/stream-id.js';
import { runScript } from '../../scripting/index.js';
import { ensureGroupScript, joinScript } from '../scripts.generated.js';
import type { Held } from './held.js';
import { OrderingConflictError } from './troubles.js';
import { membersTtl, warn, type ReaderScope } from './scope.js';

/** The consumer group: created where it is missing, and put back to where it stood where it got lost. */
export class Group {
  #seen = '';
  #existed = false;

  constructor(
    private readonly scope: ReaderScope,
    private readonly held: Held,
  ) {}

  /** Notes the highest id that was delivered. */
  saw(id: string): void {
    if (this.#seen === '' || compareIds(id, this.#seen) > 0) this.#seen = id;
  }

  /** @throws OrderingConflictError while consumers with another `ordering` live in the group */
  async ensure(): Promise<void> {
    await this.join();
    const { context, keys, group, options, label, planes, consumer, abandonAfter } = this.scope;
    const main = this.held.ids(planes.main);
    const lowest = main.reduce((low, id) => (low === '' || compareIds(id, low) < 0 ? id : low), '');
    const ids = [...main, ...this.held.ids(planes.retries)];
    const position = await runScript(
      context.connection,
      ensureGroupScript,
      [keys.stream, keys.retries, keys.floor],
      [group, options.startFrom, consumer, this.#seen, abandonAfter, lowest, main.length, ...ids],
      { wait: true },
    );
    if (position !== '' && this.#existed) {
      warn(
        this.scope,
        'ERR_STREAM_GROUP_LOST',
        `The consumer group of ${label} was gone and has been created again at ${position}; entries after that run (again).`,
      );
    }
    this.#existed = true;
  }

  /**
   * Says, or repeats, which ordering this member has.
   *
   * @throws OrderingConflictError
   */
  async join(): Promise<void> {
    const { context, keys, group, options, label, consumer, abandonAfter } = this.scope;
    const { ordering, reapAfter } = options;
    const joined = await runScript(
      context.connection,
      joinScript,
      [keys.meta, keys.members, keys.retries, keys.lanes, keys.parked],
      [group, ordering, consumer, reapAfter, membersTtl(reapAfter), abandonAfter, this.#existed ? 1 : 0],
      { wait: true },
    );
    if (joined === 0) throw new OrderingConflictError(label, ordering);
  }
}
