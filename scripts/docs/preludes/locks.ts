import type { LeaderElectionService, LockService, RunOnceService, SemaphoreService } from 'nestjs-redis-patterns';

export class Order {
  readonly productId!: string;
}
export class Receipt {}
export class Report {}

interface Held {
  fence?: bigint;
  signal: AbortSignal;
}

/** Of Express, as the filter uses it. */
export interface Response {
  status(code: number): this;
  setHeader(name: string, value: number): this;
  json(body: unknown): this;
}

export declare const locks: LockService;
export declare const semaphores: SemaphoreService;
export declare const leaders: LeaderElectionService;
export declare const runOnce: RunOnceService;
export declare const id: string;
export declare const from: string;
export declare const to: string;
export declare const page: string;
export declare function takeOne(id: string, held: Held): Promise<void>;
export declare function transfer(from: string, to: string, fence: bigint): Promise<void>;
export declare function render(page: string, signal: AbortSignal): Promise<void>;
/** Of @nestjs/schedule. */
export declare function Cron(expression: string): MethodDecorator;
export declare function Interval(ms: number): MethodDecorator;
