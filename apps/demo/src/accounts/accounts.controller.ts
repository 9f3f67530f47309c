import {
  BadRequestException,
  Body,
  Controller,
  Delete,
  Get,
  Headers,
  HttpCode,
  Post,
  Query,
  Res,
  UnauthorizedException,
  UseGuards,
  type ExecutionContext,
} from '@nestjs/common';
import { ApiOkResponse, ApiTooManyRequestsResponse, ApiUnauthorizedResponse } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import {
  CurrentSession,
  definePolicy,
  RateLimit,
  SessionCookie,
  SessionGuard,
  SessionService,
  type Session,
} from 'nestjs-redis-patterns';
import { Credentials, OpenSession, Welcome, type Visit } from './account.js';

/** Three wrong passwords lock an account for a minute, and for twice as long each time after that. */
const loginPolicy = definePolicy('login', {
  limit: 3,
  window: '1m',
  by: (context: ExecutionContext) => `account:${nameIn(context.switchToHttp().getRequest<Request>().body)}`,
  block: { for: '1m', escalate: 2, max: '1h' },
  onStoreError: 'closed',
});

@Controller('login')
export class AccountsController {
  constructor(
    private readonly sessions: SessionService,
    private readonly cookie: SessionCookie,
  ) {}

  /** The shop knows everybody whose password is the name, backwards. */
  @Post()
  @HttpCode(200)
  @RateLimit(loginPolicy, { countWhen: 'failure' })
  @ApiOkResponse({ type: Welcome })
  @ApiUnauthorizedResponse({ description: 'Wrong password' })
  @ApiTooManyRequestsResponse({ description: 'Too many wrong passwords; Retry-After says when to come back' })
  async login(
    @Body() { user, password }: Credentials,
    @Headers('user-agent') device = 'unknown',
    @Res({ passthrough: true }) response: Response,
  ): Promise<Welcome> {
    if (typeof password !== 'string') throw new BadRequestException('password must be a text');
    if (password !== Array.from(user).toReversed().join('')) throw new UnauthorizedException('Wrong password');
    const { id } = await this.sessions.create<Visit>({ device }, { principal: user });
    this.cookie.set(response, id);
    return { user };
  }

  /** Where else one is logged in. */
  @Get()
  @UseGuards(SessionGuard)
  @ApiOkResponse({ type: [OpenSession] })
  async list(@CurrentSession() own: Session<Visit>): Promise<OpenSession[]> {
    const sessions = await this.sessions.listByPrincipal<Visit>(own.principal!);
    return sessions.map(({ handle, data }) => ({ handle, device: data.device, current: handle === own.handle }));
  }

  /** Logs out, here or everywhere. */
  @Delete()
  @UseGuards(SessionGuard)
  async logout(
    @CurrentSession() own: Session<Visit>,
    @Query('everywhere') everywhere: string | undefined,
    @Res({ passthrough: true }) response: Response,
  ): Promise<{ ended: number }> {
    const ended =
      everywhere === undefined
        ? Number(await this.sessions.destroyHandle(own.handle))
        : await this.sessions.destroyAllOf(own.principal!);
    this.cookie.clear(response);
    return { ended };
  }
}

function nameIn(body: unknown): string {
  const user = (body as Partial<Credentials> | undefined)?.user;
  if (typeof user === 'string' && user !== '') return user;
  throw new BadRequestException('user must be a text');
}
