import type { CanActivate } from '@nestjs/common';
import type { RateLimitService } from 'nestjs-redis-patterns';

export class Credentials {}
export class AuthGuard implements CanActivate {
  canActivate(): boolean {
    return true;
  }
}

export declare const limits: RateLimitService;
export declare const user: { id: string };
export declare const signal: AbortSignal;
export declare function render(options: { signal: AbortSignal }): Promise<void>;
