import { Inject, Injectable, UnauthorizedException, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { NotBoundError } from '../../core/errors.js';
import { SessionCookie, SessionService } from '../index.js';
import { RequestSession } from './request-session.js';

/**
 * Lets requests with a live session pass. Others get 401 (`UnauthorizedException`); when Redis cannot say, 503
 * (`SessionUnavailableError`), never 401. For HTTP handlers, on Express and Fastify.
 *
 * @example
 * ```ts
 * @Get('cart')
 * @UseGuards(SessionGuard)
 * cart(@CurrentSession() session: Session<Cart>): Item[] {
 *   return session.data.items;
 * }
 * ```
 */
@Injectable()
export class SessionGuard implements CanActivate {
  constructor(
    @Inject(SessionService) private readonly sessions: SessionService,
    @Inject(SessionCookie) private readonly cookie: SessionCookie,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    if (context.getType() !== 'http') {
      throw new NotBoundError(
        `SessionGuard was used on ${context.getClass().name}.${context.getHandler().name}, which handles no HTTP requests; ` +
          'ask SessionService there.',
      );
    }
    const request = context.switchToHttp().getRequest<object>();
    const session = await RequestSession.hold(request, this.sessions, this.cookie).load();
    if (session === undefined) throw new UnauthorizedException('There is no session; log in');
    return true;
  }
}
