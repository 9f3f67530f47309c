// Compiled, never run: what the cache decorators accept and refuse. Each `@ts-expect-error` is a test.
import type { Observable } from 'rxjs';
import { defineCache } from '../../libs/redis-patterns/src/cache/index.js';
import { Cacheable, CacheEvict, CachePut } from '../../libs/redis-patterns/src/cache/nest/index.js';

interface Product {
  readonly id: number;
  readonly revision: number;
}

const products = defineCache<[id: number], Product>({ resource: 'product', key: (id) => id, ttl: '10m' });
const prices = defineCache({ resource: 'price', key: (id: number, currency: string) => [id, currency] });
const byName = { key: (name: string) => ['by-name', name] as const, ttl: '1m' } as const;

/** Functions of a region take the arguments of its key, or fewer. */
export const acceptedRegions = [
  defineCache<[id: number], Product>({ resource: 'r', key: (id) => id, tags: (id: number) => [`product:${id}`] }),
  defineCache<[id: number], Product>({ resource: 'r', key: (id) => id, tags: () => ['products'] }),
  defineCache<[id: number], Product>({ resource: 'r', key: (id) => id, tags: ['products'] as const }),
  defineCache<[id: number], Product>({
    resource: 'r',
    key: (id) => id,
    resultTags: (product, id) => [`${product.id} ${id}`],
  }),
  defineCache<[id: number], Product>({
    resource: 'r',
    key: (id) => id,
    cacheErrors: (error) => (error ? '1m' : undefined),
  }),
  defineCache<[id: number], Product>({ resource: 'r', key: (id) => id, cacheErrors: () => undefined }),
];

export const refusedRegions = [
  // @ts-expect-error the key takes a number
  defineCache<[id: number], Product>({ resource: 'r', key: (id) => id, tags: (id: string) => [id] }),
  // @ts-expect-error the key takes one argument
  defineCache<[id: number], Product>({ resource: 'r', key: (id) => id, tags: (id: number, more: string) => [more] }),
  // @ts-expect-error a text is no list of texts
  defineCache<[id: number], Product>({ resource: 'r', key: (id) => id, tags: (id) => `product:${id}` }),
  // @ts-expect-error tags are texts
  defineCache<[id: number], Product>({ resource: 'r', key: (id) => id, tags: (id) => [id] }),
  // @ts-expect-error tags are known before the load, so that there is no promise
  defineCache<[id: number], Product>({ resource: 'r', key: (id) => id, tags: async () => ['products'] }),
  // @ts-expect-error the value comes first
  defineCache<[id: number], Product>({ resource: 'r', key: (id) => id, resultTags: (id: number) => [`${id}`] }),
  // @ts-expect-error an error is remembered for a time, not for ever
  defineCache<[id: number], Product>({ resource: 'r', key: (id) => id, cacheErrors: () => true }),
  // @ts-expect-error what a factory throws can be anything
  defineCache<[id: number], Product>({ resource: 'r', key: (id) => id, cacheErrors: (e: Error) => e.message.length }),
];

export class Accepted {
  @Cacheable()
  async plain(_id: number): Promise<number> {
    return 1;
  }

  @Cacheable(products)
  async region(id: number): Promise<Product> {
    return { id, revision: 1 };
  }

  @Cacheable(products)
  async moreParameters(id: number, _locale: string): Promise<Product> {
    return { id, revision: 1 };
  }

  @Cacheable({ key: (id: number) => ['x', id], when: (id: number) => id > 0, unless: (result: number) => result < 0 })
  async functions(_id: number): Promise<number> {
    return 1;
  }

  @Cacheable({ ttl: '1m', when: (id: number, _locale: string) => id > 0 })
  observable(_id: number, _locale: string): Observable<number> {
    throw new Error('never run');
  }

  @Cacheable({ tags: (id: number) => [`x:${id}`], resultTags: (result: number, id: number) => [`${result + id}`] })
  async tagged(_id: number, _locale: string): Promise<number> {
    return 1;
  }

  @Cacheable({ tags: ['x'], cacheErrors: (error) => (error instanceof TypeError ? 500 : undefined) })
  async rememberingErrors(): Promise<number> {
    return 1;
  }

  @Cacheable(byName)
  async named(_name: string): Promise<number> {
    return 1;
  }

  @CachePut(products)
  async put(id: number, _change: object): Promise<Product> {
    return { id, revision: 1 };
  }

  @CachePut(products, { key: (product: Product) => [product.id], version: (product: Product) => product.revision })
  async putMapped(_change: object): Promise<Product> {
    return { id: 1, revision: 1 };
  }

  @CachePut(byName, { key: (_result: number, change: { name: string }) => [change.name] })
  async putOptions(_change: { name: string }): Promise<number> {
    return 1;
  }

  @CacheEvict(products, { before: true })
  @CacheEvict(prices, { key: (id: number) => [id, 'EUR'] })
  async evict(_id: number): Promise<void> {}

  @CacheEvict(byName)
  async evictOptions(_name: string): Promise<void> {}
}

export class Refused {
  // @ts-expect-error a synchronous method
  @Cacheable()
  synchronous(): number {
    return 1;
  }

  // @ts-expect-error a static method
  @Cacheable()
  static async ofTheClass(): Promise<number> {
    return 1;
  }

  // @ts-expect-error the region's key takes a number
  @Cacheable(products)
  async otherParameter(_id: string): Promise<Product> {
    return { id: 1, revision: 1 };
  }

  // @ts-expect-error the region holds products
  @Cacheable(products)
  async otherValue(_id: number): Promise<string> {
    return '';
  }

  // @ts-expect-error the key takes a number
  @Cacheable({ key: (id: number) => ['x', id] })
  async otherKey(_id: string): Promise<number> {
    return 1;
  }

  // @ts-expect-error `unless` takes the result first
  @Cacheable({ unless: (result: string) => result === '' })
  async otherResult(): Promise<number> {
    return 1;
  }

  // @ts-expect-error the tags take a number
  @Cacheable({ tags: (id: number) => [`x:${id}`] })
  async otherTags(_id: string): Promise<number> {
    return 1;
  }

  // @ts-expect-error the tags take one parameter more than the method
  @Cacheable({ tags: (id: number, locale: string) => [id + locale] })
  async moreTags(_id: number): Promise<number> {
    return 1;
  }

  // @ts-expect-error `resultTags` take the result first
  @Cacheable({ resultTags: (id: string) => [id] })
  async otherResultTags(_id: string): Promise<number> {
    return 1;
  }

  // @ts-expect-error an unknown option
  @Cacheable({ tll: '1m' })
  async misspelt(): Promise<number> {
    return 1;
  }

  // @ts-expect-error a synchronous method
  @CachePut(products)
  synchronousPut(id: number): Product {
    return { id, revision: 1 };
  }

  // @ts-expect-error the mapping gives a text, the region's key takes a number
  @CachePut(products, { key: (product: Product) => [String(product.id)] })
  async otherMapping(): Promise<Product> {
    return { id: 1, revision: 1 };
  }

  // @ts-expect-error the mapping takes the result first
  @CachePut(products, { key: (id: string) => [Number(id)] })
  async mappingWithoutResult(_id: string): Promise<Product> {
    return { id: 1, revision: 1 };
  }

  // @ts-expect-error the value is not what the region holds
  @CachePut(products, { key: (_result: number, id: number) => [id] })
  async otherPutValue(_id: number): Promise<number> {
    return 1;
  }

  // @ts-expect-error no key
  @CachePut({ ttl: '1m' })
  async putWithoutKey(): Promise<number> {
    return 1;
  }

  // @ts-expect-error the region's key takes a number
  @CacheEvict(products)
  async evictOther(_id: string): Promise<void> {}

  // @ts-expect-error the tags take a text
  @CacheEvict({ tags: (name: string) => [name] })
  async evictOtherTags(_id: number): Promise<void> {}

  // @ts-expect-error the mapping does not fit the parameters
  @CacheEvict(products, { key: (change: { id: number }) => [change.id] })
  async evictOtherMapping(_id: number): Promise<void> {}
}
