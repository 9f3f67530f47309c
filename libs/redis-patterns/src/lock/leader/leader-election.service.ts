import type { EngineContext } from '../../connection/index.js';
import { keyTemplate, type Key } from '../../keys/index.js';
import type { GaugeSample } from '../../telemetry/index.js';
import { ownerOf } from '../identity.js';
import { Leases } from '../leases.js';
import type { LockInfo } from '../lock.service.js';
import type { ResolvedLockOptions } from '../lock.options.js';
import { SingleLocks } from '../single-lock.js';
import { Campaign } from './campaign.js';
import { parseCampaign, type CampaignOptions } from './leader.options.js';
import { leaderResource, termOf } from './leader-resource.js';

/** A candidate that is refused asks anew after that, milliseconds; it waits in the queue all the time. */
const PATIENCE = 60_000;

/**
 * Elects one leader among the candidates of all processes. What a lock on Redis cannot promise holds for a leader as well:
 * after a failover there may be two, and only a resource that checks `fence` keeps the older one out.
 *
 * @example
 * ```ts
 * onModuleInit() {
 *   this.campaign = this.leaders.campaign('scheduler');
 *   this.campaign.on('elected', (term) => void this.runUntil(term.signal));
 * }
 * ```
 */
export class LeaderElectionService {
  readonly #leases: Leases;
  readonly #locks: SingleLocks;
  /** And their names for telemetry. */
  readonly #campaigns = new Map<Campaign, string>();

  constructor(
    private readonly context: EngineContext,
    private readonly options: ResolvedLockOptions,
  ) {
    this.#leases = new Leases(context, 'leader');
    const setup = { context, wakePrefix: this.#leases.wakeUps.prefix, liveness: options.liveness };
    this.#locks = new SingleLocks(setup, 'leader');
    context.telemetry.gauges.add('leader', () => this.#leads());
  }

  /**
   * Becomes a candidate, until {@link Campaign.resign} or the shutdown. Trouble with Redis ends no candidacy.
   *
   * @throws InvalidKeyError, InvalidOptionsError
   */
  campaign(name: Key, options: CampaignOptions = {}): Campaign {
    const leaseMs = parseCampaign(options, this.options.lease);
    const { liveness } = this.options;
    const campaign = new Campaign({
      leases: this.#leases,
      resource: leaderResource(this.#locks.resource(this.#locks.keysOf(name), true), leaseMs),
      call: {
        name: nameOf(name),
        lease: termOf(leaseMs),
        wait: PATIENCE,
        maxHold: Infinity,
        autoExtend: true,
        liveness,
      },
      onError: (message, error) =>
        this.context.telemetry.emit('error', { pattern: 'Lock', code: 'ERR_LOCK_CAMPAIGN', message, error }),
    });
    this.#campaigns.set(campaign, nameOf(name));
    void campaign.over.then(() => this.#campaigns.delete(campaign));
    return campaign;
  }

  /**
   * Tells who leads; `null` when nobody does.
   *
   * @throws RedisUnavailableError when Redis could not be asked: that is not the same as nobody
   */
  async inspect(name: Key): Promise<LockInfo | null> {
    const found = await this.#locks.inspect(this.#locks.keysOf(name));
    if (found === null) return null;
    const [token, leftMs, fence, waiting] = found;
    return { owner: ownerOf(token), fence: BigInt(fence), remainingMs: leftMs, waiting };
  }

  *#leads(): Iterable<GaugeSample> {
    const { name: connection } = this.context.connection;
    for (const [{ isLeader }, name] of this.#campaigns) yield { labels: { connection, name }, value: isLeader ? 1 : 0 };
  }

  /** Resigns everywhere. */
  async close(): Promise<void> {
    await Promise.all([...this.#campaigns.keys()].map((campaign) => campaign.resign()));
    await this.#leases.close(0);
  }
}

/** A text is what the code says; of parts the first is. */
function nameOf(name: Key): string {
  return typeof name === 'string' ? name : (keyTemplate(name) ?? 'leader');
}
