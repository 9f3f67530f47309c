import { Body, Controller, Delete, Get, Injectable, Module, Param, ParseIntPipe, Put, Scope } from '@nestjs/common';
import type { INestApplication, Type } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Observable, lastValueFrom, of } from 'rxjs';
import request from 'supertest';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import {
  CacheInvalidationError,
  CacheService,
  defineCache,
  type CacheOptions,
} from '../../../libs/redis-patterns/src/cache/index.js';
import { Cacheable, CacheEvict, CachePut } from '../../../libs/redis-patterns/src/cache/nest/index.js';
import { RedisUnavailableError } from '../../../libs/redis-patterns/src/connection/index.js';
import { RedisPatternsModule } from '../../../libs/redis-patterns/src/nest/redis-patterns.module.js';
import { telemetryChannel } from '../../../libs/redis-patterns/src/telemetry/index.js';
import { eventually } from '../../support/eventually.js';
import { describeOnEachTopology, startOwn, type PlainConnection, type Topology } from '../../support/topologies.js';

interface Product {
  readonly id: number;
  readonly name: string;
  readonly at: Date;
}

const productCache = defineCache<[id: number], Product | null>({ resource: 'product', key: (id) => id, ttl: '10m' });

@Injectable()
class Products {
  reads: unknown[] = [];
  name = 'lamp';
  failure: Error | undefined;

  @Cacheable(productCache)
  async find(id: number): Promise<Product | null> {
    this.reads.push(id);
    return id < 0 ? null : { id, name: this.name, at: new Date(0) };
  }

  async findTwice(id: number): Promise<unknown[]> {
    return [await this.find(id), await this.find(id)];
  }

  @Cacheable({ ttl: '1m' })
  async search(text: unknown, _options?: object): Promise<string> {
    this.reads.push(text);
    return `results for ${String(text)}`;
  }

  @Cacheable({
    key: (country: string) => ['vat', country],
    when: (country: string) => country !== 'XX',
    unless: (rate: number) => rate === 0,
  })
  async vat(country: string): Promise<number> {
    this.reads.push(country);
    return country === 'ZZ' ? 0 : this.reads.length;
  }

  @Cacheable({ key: (id: number) => ['price', id] })
  price(id: number): Observable<number> {
    this.reads.push(id);
    return of(id * 10);
  }

  @CachePut(productCache)
  async rename(id: number, name: string): Promise<Product> {
    if (this.failure) throw this.failure;
    this.name = name;
    return { id, name, at: new Date(1) };
  }

  @CachePut(productCache, {
    key: (product: Product | null) => [product!.id],
    version: (_product: unknown, change: { v: number }) => change.v,
  })
  async save(change: { v: number; id: number; name: string }): Promise<Product | null> {
    return { id: change.id, name: change.name, at: new Date(change.v) };
  }

  @CacheEvict({ key: (country: string) => ['vat', country] })
  @CacheEvict(productCache, { key: (_country: string, id: number) => [id] })
  async remove(_country: string, _id: number): Promise<string> {
    if (this.failure) throw this.failure;
    return 'removed';
  }

  @Cacheable({ key: (country: string) => country })
  async capital(country: string): Promise<string> {
    this.reads.push(country);
    return country;
  }

  @CacheEvict({ key: (country: string) => country })
  async moveCapital(country: string): Promise<void> {
    this.reads.push(country);
  }

  @CacheEvict(productCache, { before: true })
  async evictEvenIfItFails(_id: number): Promise<void> {
    throw new Error('too late');
  }
}

const shelfCache = defineCache<[shelf: string, page: number], string[]>({
  resource: 'shelf',
  key: (shelf, page) => [shelf, page],
  tags: (shelf) => [`shelf:${shelf}`],
  resultTags: (items) => items.map((item) => `item:${item}`),
});

@Injectable()
class Shelves {
  reads = 0;

  @Cacheable(shelfCache)
  async page(shelf: string, page: number): Promise<string[]> {
    this.reads++;
    return [`${shelf}${page}`];
  }

  @Cacheable({ key: (shelf: string) => ['first', shelf], tags: (shelf: string) => [`shelf:${shelf}`] })
  async first(_shelf: string): Promise<number> {
    return ++this.reads;
  }

  @CachePut(shelfCache)
  async replace(_shelf: string, _page: number, items: string[]): Promise<string[]> {
    return items;
  }

  @CacheEvict({ tags: (shelf: string) => [`shelf:${shelf}`] })
  async tidy(_shelf: string): Promise<void> {}

  @CacheEvict(shelfCache, { tags: (_shelf: string, _page: number, item: string) => [`item:${item}`] })
  async take(_shelf: string, _page: number, _item: string): Promise<void> {}
}

@Injectable({ scope: Scope.REQUEST })
class RequestScoped {
  constructor(readonly products: Products) {}

  @Cacheable({ key: (id: number) => ['scoped', id] })
  async find(id: number): Promise<number> {
    this.products.reads.push(`scoped ${id}`);
    return id;
  }
}

@Controller('products')
class ProductsController {
  constructor(
    readonly products: Products,
    readonly scoped: RequestScoped,
  ) {}

  @Get(':id')
  find(@Param('id', ParseIntPipe) id: number): Promise<Product | null> {
    return this.products.find(id);
  }

  @Cacheable({ ttl: '1m' })
  @Get(':id/page')
  async page(@Param('id', ParseIntPipe) id: number): Promise<object> {
    this.products.reads.push(`page ${id}`);
    return { page: id };
  }

  @Get(':id/scoped')
  scopedFind(@Param('id', ParseIntPipe) id: number): Promise<number> {
    return this.scoped.find(id);
  }

  @Put(':id')
  rename(@Param('id', ParseIntPipe) id: number, @Body('name') name: string): Promise<Product> {
    return this.products.rename(id, name);
  }

  @Delete(':id')
  remove(@Param('id', ParseIntPipe) id: number): Promise<string> {
    return this.products.remove('DE', id);
  }
}

const running: INestApplication[] = [];

async function boot(
  setup: { connection: PlainConnection; namespace: string },
  { cache, providers = [], timeout }: { cache?: CacheOptions; providers?: Type[]; timeout?: number } = {},
): Promise<INestApplication> {
  const connection = { ...setup.connection, ...(timeout === undefined ? {} : { closeTimeout: timeout }) };
  @Module({
    imports: [RedisPatternsModule.forRoot({ namespace: setup.namespace, connection, ...(cache ? { cache } : {}) })],
    controllers: [ProductsController],
    providers: [Products, Shelves, RequestScoped, ...providers],
  })
  class AppModule {}
  const testing = await Test.createTestingModule({ imports: [AppModule] }).compile();
  const app = testing.createNestApplication();
  running.push(app);
  await app.init();
  return app;
}

async function closeAll(): Promise<void> {
  await Promise.all(running.splice(0).map((app) => app.close()));
}

describeOnEachTopology('decorators of the cache', { user: 'cache' }, (topology) => {
  let app: INestApplication;
  let products: Products;
  let cache: CacheService;
  let ids = 0;
  let id: number;

  beforeAll(async () => {
    app = await boot(topology);
    products = app.get(Products);
    cache = app.get(CacheService);
  });
  afterAll(closeAll);
  afterEach(() => {
    products.reads = [];
    products.failure = undefined;
  });
  const next = () => (id = ++ids);

  it('answers from Redis over HTTP, and writes the region’s key', async () => {
    next();
    const http = request(app.getHttpServer());
    const first = await http.get(`/products/${id}`).expect(200);
    const second = await http.get(`/products/${id}`).expect(200);
    expect(second.body).toEqual(first.body);
    expect(products.reads).toEqual([id]);
    expect(await topology.admin.client.exists(`${topology.namespace}:cache:product:${id}`)).toBe(1);
    await http.get('/products/none').expect(400);
  });

  it('calls the method once for 100 parallel requests', async () => {
    next();
    const server = app.getHttpServer();
    await Promise.all(Array.from({ length: 100 }, () => request(server).get(`/products/${id}`).expect(200)));
    expect(products.reads).toEqual([id]);
  });

  it('works on handlers, on request-scoped providers and for calls by this', async () => {
    next();
    const http = request(app.getHttpServer());
    await http.get(`/products/${id}/page`).expect(200, { page: id });
    await http.get(`/products/${id}/page`).expect(200, { page: id });
    await http.get(`/products/${id}/scoped`).expect(200);
    await http.get(`/products/${id}/scoped`).expect(200);
    const [one, two] = await products.findTwice(id);
    expect(one).toEqual(two);
    expect(products.reads).toEqual([`page ${id}`, `scoped ${id}`, id]);
  });

  it('keeps Dates and null as they are', async () => {
    next();
    await products.find(id);
    expect((await products.find(id))?.at).toEqual(new Date(0));
    expect([await products.find(-id), await products.find(-id)]).toEqual([null, null]);
    expect(products.reads).toEqual([id, -id]);
  });

  it('tells arguments without a key function apart by type, and refuses those without a stable text', async () => {
    next();
    for (const text of [id, String(id), BigInt(id), id, String(id)]) await products.search(text);
    await products.search(id, { b: 1, a: 2 });
    await products.search(id, { a: 2, b: 1 });
    expect(products.reads).toEqual([id, String(id), BigInt(id), id]);
    await expect(products.search(() => 1)).rejects.toMatchObject({ code: 'ERR_INVALID_KEY' });
  });

  it('refuses a key that a function forgot, by the name of the method, and before the method runs', async () => {
    next();
    const nothing = undefined as unknown as string;
    for (const [call, method, lack] of [
      [products.capital(nothing), '@Cacheable on Products.capital', 'is undefined'],
      [products.moveCapital(nothing), '@CacheEvict on Products.moveCapital', 'is undefined'],
      [products.moveCapital(''), '@CacheEvict on Products.moveCapital', 'is empty'],
    ] as const) {
      await expect(call).rejects.toMatchObject({
        code: 'ERR_INVALID_KEY',
        message: expect.stringContaining(`'key' of ${method} ${lack} for this call`),
      });
    }
    await expect(products.moveCapital('{}')).rejects.toMatchObject({ code: 'ERR_INVALID_KEY' });
    expect(products.reads).toEqual([]);
  });

  it('follows when and unless', async () => {
    await products.vat('XX');
    await products.vat('XX');
    await products.vat('ZZ');
    await products.vat('ZZ');
    await products.vat('FR');
    await products.vat('FR');
    expect(products.reads).toEqual(['XX', 'XX', 'ZZ', 'ZZ', 'FR']);
  });

  it('caches the value of an Observable', async () => {
    next();
    expect(await lastValueFrom(products.price(id))).toBe(id * 10);
    expect(await lastValueFrom(products.price(id))).toBe(id * 10);
    expect(products.reads).toEqual([id]);
  });

  it('puts what the method returns, over HTTP', async () => {
    next();
    const http = request(app.getHttpServer());
    await http.get(`/products/${id}`).expect(200);
    await http.put(`/products/${id}`).send({ name: 'chair' }).expect(200);
    expect((await http.get(`/products/${id}`).expect(200)).body).toMatchObject({ id, name: 'chair' });
    expect(products.reads).toEqual([id]);
  });

  it('puts by mapped arguments, and keeps the higher version', async () => {
    next();
    await products.save({ v: 2, id, name: 'second' });
    expect(await products.save({ v: 1, id, name: 'late first' })).toMatchObject({ name: 'late first' });
    expect(await products.find(id)).toMatchObject({ name: 'second' });
  });

  it('evicts several entries after success, over HTTP', async () => {
    next();
    await products.find(id);
    await products.vat('DE');
    await request(app.getHttpServer()).delete(`/products/${id}`).expect(200, 'removed');
    expect(await cache.has(productCache.key(id))).toBe(false);
    expect(await cache.has(['vat', 'DE'])).toBe(false);
  });

  it('stores under tags from arguments and results, and invalidates by them', async () => {
    const shelves = app.get(Shelves);
    const shelf = `s${next()}`;
    const read = async () => [await shelves.page(shelf, 1), await shelves.page(shelf, 2), await shelves.first(shelf)];
    await read();
    await read();
    expect(shelves.reads).toBe(3);
    await shelves.tidy(shelf);
    await read();
    expect(shelves.reads).toBe(6);
    // The entry of page 1, and what holds an item: page 2.
    await shelves.take(shelf, 1, `${shelf}2`);
    await read();
    expect(shelves.reads).toBe(8);
    await shelves.replace(shelf, 1, ['x', `${shelf}!`]);
    expect(await shelves.page(shelf, 1)).toEqual(['x', `${shelf}!`]);
    await cache.invalidateTags([`item:${shelf}!`]);
    expect(await shelves.page(shelf, 1)).toEqual([`${shelf}1`]);
    const by = shelfCache.optionsFor(shelf, 1);
    expect(await cache.getOrSet(shelfCache.key(shelf, 1), async () => [], by)).toEqual([`${shelf}1`]);
  });

  it('changes nothing when the method fails, unless `before` says so', async () => {
    next();
    await products.find(id);
    products.failure = new Error('database');
    await expect(products.rename(id, 'x')).rejects.toBe(products.failure);
    await expect(products.remove('DE', id)).rejects.toBe(products.failure);
    expect(await cache.has(productCache.key(id))).toBe(true);
    await expect(products.evictEvenIfItFails(id)).rejects.toThrow('too late');
    expect(await cache.has(productCache.key(id))).toBe(false);
  });

  it('can be done by hand with the service and the same region', async () => {
    next();
    const value = { id, name: 'by hand', at: new Date(2) };
    expect(await cache.getOrSet(productCache.key(id), async () => value, productCache.options)).toEqual(value);
    expect(await products.find(id)).toEqual(value);
    expect(products.reads).toEqual([]);
  });

  it('refuses two definitions of one resource at the boot', async () => {
    const again = defineCache({ resource: 'product', key: (id: number) => id });
    @Injectable()
    class Others {
      @Cacheable(again)
      async find(id: number): Promise<number> {
        return id;
      }
    }
    await expect(boot(topology, { providers: [Others] })).rejects.toThrow(
      /@Cacheable on (Others|Products)\.find[^]*'product' is defined by two defineCache\(\) calls/,
    );
  });

  it('refuses options that cannot work at the boot, and names the method', async () => {
    @Injectable()
    class Wrong {
      @Cacheable({ ttl: '8d' })
      async long(): Promise<number> {
        return 1;
      }

      @CacheEvict({ key: 'product' } as never)
      async evict(): Promise<void> {}
    }
    await expect(boot(topology, { providers: [Wrong] })).rejects.toThrow(
      /(?=[^]*Wrong\.long: ttl: 8d is longer than cache\.maxTtl)(?=[^]*Wrong\.evict: key: must be a function)/,
    );
    await expect(boot(topology, { cache: { tll: 1 } as object })).rejects.toThrow(
      /cache\.tll: unknown option; did you mean 'ttl'/,
    );
  });
});

describe('decorators of the cache while Redis is frozen', () => {
  let own: Topology;

  beforeAll(async () => {
    own = await startOwn('standalone', { user: 'cache' });
  });
  afterAll(() => own?.stop());
  afterEach(async () => {
    own.resume(own.nodes[0]!);
    await closeAll();
  });

  async function frozen(onInvalidationError: 'defer' | 'throw'): Promise<{ products: Products; cache: CacheService }> {
    const app = await boot(
      { connection: own.connection, namespace: onInvalidationError },
      { cache: { onInvalidationError }, timeout: 50 },
    );
    const products = app.get(Products);
    await products.find(1);
    own.freeze(own.nodes[0]!);
    return { products, cache: app.get(CacheService) };
  }

  it('lets the change succeed by default, reports it, and evicts later', async () => {
    const reports: unknown[] = [];
    const listen = (message: unknown) => reports.push(message);
    subscribe(telemetryChannel('error'), listen);
    const { products, cache } = await frozen('defer');
    expect(await products.rename(1, 'chair')).toMatchObject({ name: 'chair' });
    unsubscribe(telemetryChannel('error'), listen);
    expect(reports).toEqual([
      expect.objectContaining({
        code: 'ERR_CACHE_INVALIDATION',
        message: expect.stringContaining('Products.rename has done its work'),
      }),
    ]);
    own.resume(own.nodes[0]!);
    // Until Redis has been told, and afterwards, the former value is never seen.
    expect(await products.find(1)).toMatchObject({ name: 'chair' });
    await eventually(async () => {
      expect(await products.find(1)).toMatchObject({ name: 'chair' });
      expect(await cache.has(productCache.key(1))).toBe(true);
    });
    expect(await products.find(1)).toMatchObject({ name: 'chair' });
  });

  it("fails with the result of the method with 'throw'", async () => {
    const { products } = await frozen('throw');
    const failure = await products.remove('DE', 1).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(CacheInvalidationError);
    expect(failure).toMatchObject({ code: 'ERR_CACHE_INVALIDATION', cause: expect.any(RedisUnavailableError) });
    expect((failure as CacheInvalidationError).result).toBe('removed');
    expect(Object.keys(failure as object)).not.toContain('result');
  });
});
