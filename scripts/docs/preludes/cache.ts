import type { CacheService } from 'nestjs-redis-patterns';

export class Product {
  readonly id!: number;
  readonly revision!: number;
}
export class ProductChange {}
export class Page {
  readonly items!: readonly Product[];
}
export class Filter {}
export class ListQuery {}
export class Price {}

export declare const cache: CacheService;
export declare const repository: { find(id: number): Promise<Product> };
export declare function fetchRate(signal: AbortSignal): Promise<number>;
export declare function loadAll<K>(keys: readonly K[]): Promise<Map<K, Product>>;
export declare const key: string;
export declare const keys: string[];
export declare const entries: (readonly [string, Product])[];
