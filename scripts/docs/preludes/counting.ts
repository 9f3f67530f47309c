import type { BloomFilterService, CounterService, UniqueCounterService } from 'nestjs-redis-patterns';

export declare const counters: CounterService;
export declare const unique: UniqueCounterService;
export declare const filters: BloomFilterService;
export declare const productId: number;
export declare const userId: string;
export declare const message: { id: string };
export declare const articleIds: string[];
export declare const candidates: string[];
