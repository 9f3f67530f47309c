import type { SessionService, TokenService } from 'nestjs-redis-patterns';

export class LoginForm {
  user!: string;
  password!: string;
}
export interface Visit {
  userId: string;
}
export interface Me {
  userId: string;
}
export interface Cart {
  items: string[];
}
export interface Reset {
  userId: string;
}
export declare const sessions: SessionService;
export declare const tokens: TokenService;
export declare const id: string;
export declare const user: { id: string };
export declare const cookie: string;
export declare const secret: string;
