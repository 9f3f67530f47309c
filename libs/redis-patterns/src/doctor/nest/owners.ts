import { KeyBuilder, type Key } from '../../keys/index.js';
import type { DecoratedMethod } from '../../nest/method-decorator/index.js';

/** Which methods keep keys under which beginning, as far as it can be told before they run: a `key` function cannot. */
export function ownersOf(namespace: string, methods: readonly DecoratedMethod[]): ReadonlyMap<string, string> {
  const keys = new KeyBuilder(namespace);
  const owners = new Map<string, string[]>();
  for (const method of methods) {
    for (const key of keysOf(method, keys)) {
      const owner = `${method.decorator} ${method.name}`;
      const plain = key.replaceAll(/[{}]/g, '');
      owners.set(plain, [...new Set([...(owners.get(plain) ?? []), owner])]);
    }
  }
  return new Map([...owners].map(([beginning, names]) => [beginning, names.join(', ')]));
}

interface Given {
  readonly resource?: unknown;
  readonly source?: Given;
  readonly key?: unknown;
  readonly name?: unknown;
  readonly policies?: unknown;
}

function keysOf({ decorator, options, name }: DecoratedMethod, keys: KeyBuilder): string[] {
  const given = (options ?? {}) as Given;
  switch (decorator) {
    case '@Cacheable':
    case '@CachePut':
    case '@CacheEvict': {
      const source = given.source ?? given;
      if (typeof source.resource === 'string') return [keys.main('cache', [source.resource])];
      return decorator === '@Cacheable' && source.key === undefined ? [keys.main('cache', [name])] : [];
    }
    case '@WithLock':
      return typeof given.key === 'function' || given.key === undefined ? [] : [keys.main('lock', given.key as Key)];
    case '@RunOnce':
      return typeof given.name === 'string' ? [keys.main('runonce', [given.name])] : [];
    case '@RateLimit': {
      const policies = Array.isArray(given.policies) ? (given.policies as unknown[]) : [];
      const names = policies.map((policy) => (typeof policy === 'string' ? policy : (policy as Given).name));
      return names.filter((each) => typeof each === 'string').map((each) => keys.main('ratelimit', [each]));
    }
    default:
      return [];
  }
}
