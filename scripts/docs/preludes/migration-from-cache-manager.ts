import type { CacheService } from 'nestjs-redis-patterns';

export declare const cache: CacheService;
export declare const repository: { find(id: number): Promise<{ name: string }> };
export declare const id: number;
