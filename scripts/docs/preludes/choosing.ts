import type { RedisConnections } from 'nestjs-redis-patterns';

export declare const connections: RedisConnections;
export declare const shop: string;
