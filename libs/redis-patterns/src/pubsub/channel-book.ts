import type { ChannelKind } from '../connection/index.js';
import { InvalidOptionsError } from '../core/errors.js';
import type { Key, KeyBuilder } from '../keys/index.js';
import type { ResolvedChannel, ResolvedPubSubOptions } from './pubsub.options.js';

/** Names a channel: a text, or an array whose parts are escaped: `'news'`, `['stock', productId]`. */
export type Channel = Key;

/** Names all channels that fit a glob pattern of Redis (`*`, `?`, `[ab]`). */
export interface ChannelPattern {
  readonly pattern: string;
}

/** A channel or pattern, ready to be used. */
export interface Target {
  readonly kind: ChannelKind;
  /** As it is called in Redis; of a reliable channel also the key of what is kept. */
  readonly key: string;
  /** Without the namespace. */
  readonly name: string;
  readonly settings: ResolvedChannel;
}

type GivenSettings = { readonly [Name in keyof ResolvedChannel]?: ResolvedChannel[Name] | undefined };

const PATTERN = 'pubsub';
const DEFAULTS: ResolvedChannel = {
  delivery: 'at-most-once',
  sharded: false,
  maxLen: 10_000,
  ttl: 3_600_000,
  sequence: false,
  raw: false,
};
/** Channels that are remembered: names that are made up at run time must not fill the memory. */
const MAX_TARGETS = 1000;

/** Knows what each channel is called and how its messages travel. */
export class ChannelBook {
  readonly #prefix: string;
  readonly #targets = new Map<string, Target>();

  constructor(
    private readonly keys: KeyBuilder,
    private readonly options: Pick<ResolvedPubSubOptions, 'channels'>,
  ) {
    this.#prefix = keys.prefix(PATTERN);
  }

  /** The channel of a message, without the namespace. */
  nameOf(key: string): string {
    return key.slice(this.#prefix.length);
  }

  /** The settings under which the messages of a channel travel, by its name. */
  settingsOf(name: string): ResolvedChannel {
    const { channels } = this.options;
    const resource = name.split(':', 1)[0]!;
    const key = [name, resource].find((candidate) => Object.hasOwn(channels, candidate));
    return merge(DEFAULTS, key === undefined ? {} : channels[key]!);
  }

  /**
   * @param given what one side says of a channel by itself
   * @throws InvalidKeyError for a name that makes no channel
   * @throws InvalidOptionsError where `given` is not what `pubsub.channels` says
   */
  channel(channel: Channel, given: GivenSettings = {}, where = ''): Target {
    const plain = typeof channel === 'string' && given.delivery === undefined && given.sharded === undefined;
    const known = plain ? this.#targets.get(channel) : undefined;
    if (known !== undefined) return known;
    const key = this.keys.main(PATTERN, channel);
    const name = this.nameOf(key);
    const settings = this.#settings(name, given, where);
    const target: Target = { kind: settings.sharded ? 'shard' : 'channel', key, name, settings };
    if (!plain) return target;
    if (this.#targets.size >= MAX_TARGETS) this.#targets.clear();
    this.#targets.set(channel, target);
    return target;
  }

  /** @throws InvalidOptionsError for what no pattern can be: sharded or reliable */
  pattern({ pattern }: ChannelPattern, given: GivenSettings, where: string): Target {
    const wrong = [
      ...(given.sharded === true ? ['sharded'] : []),
      ...(given.delivery === 'reliable' ? ['delivery'] : []),
    ];
    if (wrong.length > 0 || typeof pattern !== 'string' || pattern === '') {
      const issues = wrong.map((path) => ({
        path,
        message: 'a pattern is neither sharded nor reliable; name the channel',
      }));
      throw new InvalidOptionsError(
        where,
        issues.length > 0 ? issues : [{ path: 'pattern', message: "must be a text such as 'stock:*'" }],
      );
    }
    return { kind: 'pattern', key: this.#prefix + pattern, name: pattern, settings: DEFAULTS };
  }

  #settings(name: string, given: GivenSettings, where: string): ResolvedChannel {
    const { channels } = this.options;
    const resource = name.split(':', 1)[0]!;
    const said = [name, resource].find((candidate) => Object.hasOwn(channels, candidate));
    const settings = this.settingsOf(name);
    for (const option of ['delivery', 'sharded'] as const) {
      if (said === undefined || given[option] === undefined || given[option] === settings[option]) continue;
      const message = `differs from 'pubsub.channels.${said}.${option}', which holds for both sides; say it there alone`;
      throw new InvalidOptionsError(where, [{ path: option, message }]);
    }
    return merge(settings, given);
  }
}

function merge(settings: ResolvedChannel, given: GivenSettings): ResolvedChannel {
  const said = Object.entries(given).filter(([, value]) => value !== undefined);
  return { ...settings, ...(Object.fromEntries(said) as Partial<ResolvedChannel>) };
}
