import type { LockService } from 'nestjs-redis-patterns';

export declare const locks: LockService;
export declare const id: number;
export declare function takeOne(id: number, held: { signal: AbortSignal; fence: bigint }): Promise<void>;
