import { Injectable, NotFoundException } from '@nestjs/common';
import { Cacheable, CachePut, defineCache } from 'nestjs-redis-patterns';
import type { Product, ProductChange } from './product.js';
import { ProductsRepository } from './products.repository.js';

/** One definition for all who read, write or evict a product: `shop:cache:product:<id>`. */
export const productCache = defineCache<[id: number], Product>({ resource: 'product', key: (id) => id, ttl: '5m' });

@Injectable()
export class ProductsService {
  constructor(private readonly repository: ProductsRepository) {}

  /** Cache-aside: parallel misses of one product read it once. */
  @Cacheable(productCache)
  async find(id: number): Promise<Product> {
    return found(id, await this.repository.find(id));
  }

  /** Write-through: the database first, then the cache. */
  @CachePut(productCache, { key: (product: Product) => [product.id] })
  async change(id: number, change: ProductChange): Promise<Product> {
    return found(id, await this.repository.change(id, change));
  }

  /** Takes one item out of the stock; `undefined` when there is none. Safe only under the product's lock. */
  async take(id: number): Promise<Product | undefined> {
    const product = found(id, await this.repository.read(id));
    if (product.stock < 1) return undefined;
    return this.change(id, { stock: product.stock - 1 });
  }
}

function found(id: number, product: Product | null): Product {
  if (product === null) throw new NotFoundException(`There is no product ${id}`);
  return product;
}
