import { Injectable, Logger, NotFoundException } from '@nestjs/common';
import { Cacheable, CacheEvict, CachePut, defineCache, WithLock } from 'nestjs-redis-patterns';
import { StockBoard } from '../stock/stock-board.js';
import type { NewProduct, Product, ProductChange } from './product.js';
import { ProductsRepository } from './products.repository.js';

/** One definition for all who read, write or evict a product: `shop:cache:product:<id>`. */
export const productCache = defineCache<[id: number], Product>({ resource: 'product', key: (id) => id, ttl: '5m' });
/** Whatever shows several products; a tag invalidates all of it at once. */
export const catalogueCache = defineCache<[], Product[]>({
  resource: 'catalogue',
  key: () => [],
  ttl: '5m',
  tags: ['products'],
});

/** The lock of all who write a product. */
export function stockLock(id: number): [resource: string, id: number] {
  return ['stock', id];
}

@Injectable()
export class ProductsService {
  constructor(
    private readonly repository: ProductsRepository,
    private readonly board: StockBoard,
  ) {}

  readonly #logger = new Logger(ProductsService.name);

  /** Cache-aside: parallel misses of one product read it once. */
  @Cacheable(productCache)
  async find(id: number): Promise<Product> {
    return found(id, await this.repository.find(id));
  }

  @Cacheable(catalogueCache)
  async list(): Promise<Product[]> {
    return this.repository.list();
  }

  @CacheEvict({ tags: ['products'] })
  async create(product: NewProduct): Promise<Product> {
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
  @CacheEvict({ tags: ['products'] })
  protected async write(id: number, change: ProductChange): Promise<Product> {
    const product = found(id, await this.repository.change(id, change));
    // The product is changed already: a shop that is not told shows the old stock for a while, no more.
    if (change.stock !== undefined) await this.#tell(product).catch((error: unknown) => this.#logger.warn(error));
    return product;
  }

  #tell({ id: productId, stock }: Product): Promise<void> {
    return this.board.tell({ productId, stock });
  }
}

function found(id: number, product: Product | null): Product {
  if (product === null) throw new NotFoundException(`There is no product ${id}`);
  return product;
}
