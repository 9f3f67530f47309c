import type { INestApplication } from '@nestjs/common';
import type { SessionCookie, SessionService, TokenService } from 'nestjs-redis-patterns';

export class LoginForm {
  user!: string;
  password!: string;
  device!: string;
}
export interface Visit {
  device: string;
}
export interface Me {
  userId: string | undefined;
  device: string;
}
export interface Cart {
  items: number[];
  coupon?: string;
}
export interface Reset {
  userId: number;
}
export declare class Users {
  check(form: LoginForm): Promise<{ id: string }>;
}
/** Of Express, as cookies use them. */
export declare class Request {
  readonly headers: { readonly cookie?: string };
}
export declare class Response {
  appendHeader(name: string, value: string): this;
}

export declare const sessions: SessionService;
export declare const tokens: TokenService;
export declare const cookie: SessionCookie;
export declare const response: Response;
export declare const id: string;
export declare const user: { id: string };
export declare const secret: string;
export declare const app: INestApplication & { register(plugin: unknown, options?: object): Promise<void> };
/** Of express-session, @fastify/cookie and @fastify/session. */
export declare function session(options: object): () => void;
export declare const fastifyCookie: unknown;
export declare const fastifySession: unknown;
