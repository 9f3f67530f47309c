import { Injectable, NotFoundException } from '@nestjs/common';
import { Cacheable, CachePut, defineCache, WithLock } from 'nestjs-redis-patterns';
import type { NewProduct, Product, ProductChange } from './product.js';
import { ProductsRepository } from './products.repository.js';

/** One definition for all who read, write or evict a product: `shop:cache:product:<id>`. */
export const productCache = defineCache<[id: number], Product>({ resource: 'product', key: (id) => id, ttl: '5m' });

/** The lock of all who write a product. */
export function stockLock(id: number): [resource: string, id: number] {
  return ['stock', id];
}

@Injectable()
export class ProductsService {
  constructor(private readonly repository: ProductsRepository) {}

  /** Cache-aside: parallel misses of one product read it once. */
  @Cacheable(productCache)
  async find(id: number): Promise<Product> {
    return found(id, await this.repository.find(id));
  }

  create(product: NewProduct): Promise<Product> {
    return this.repository.create(product);
  }

  /** Under the lock that orders take, so that the cache gets the changes in the order of the database. */
  @WithLock({ key: (id: number) => stockLock(id), wait: '5s' })
  async change(id: number, change: ProductChange): Promise<Product> {
    return this.write(id, change);
  }

  /** Takes one item out of the stock; `undefined` when there is none. Only for who holds the {@link stockLock}. */
  async take(id: number): Promise<Product | undefined> {
    const product = found(id, await this.repository.read(id));
    if (product.stock < 1) return undefined;
    return this.write(id, { stock: product.stock - 1 });
  }

  /** Write-through: the database first, then the cache. */
  @CachePut(productCache, { key: (product: Product) => [product.id] })
  protected async write(id: number, change: ProductChange): Promise<Product> {
    return found(id, await this.repository.change(id, change));
  }
}

function found(id: number, product: Product | null): Product {
  if (product === null) throw new NotFoundException(`There is no product ${id}`);
  return product;
}
