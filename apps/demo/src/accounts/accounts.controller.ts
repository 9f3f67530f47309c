import {
  BadRequestException,
  Body,
  Controller,
  HttpCode,
  Post,
  UnauthorizedException,
  type ExecutionContext,
} from '@nestjs/common';
import { ApiOkResponse, ApiTooManyRequestsResponse, ApiUnauthorizedResponse } from '@nestjs/swagger';
import type { Request } from 'express';
import { definePolicy, RateLimit } from 'nestjs-redis-patterns';
import { Credentials, Welcome } from './account.js';

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
  /** The shop knows everybody whose password is the name, backwards. */
  @Post()
  @HttpCode(200)
  @RateLimit(loginPolicy, { countWhen: 'failure' })
  @ApiOkResponse({ type: Welcome })
  @ApiUnauthorizedResponse({ description: 'Wrong password' })
  @ApiTooManyRequestsResponse({ description: 'Too many wrong passwords; Retry-After says when to come back' })
  login(@Body() { user, password }: Credentials): Welcome {
    if (typeof password !== 'string') throw new BadRequestException('password must be a text');
    if (password !== Array.from(user).toReversed().join('')) throw new UnauthorizedException('Wrong password');
    return { user };
  }
}

function nameIn(body: unknown): string {
  const user = (body as Partial<Credentials> | undefined)?.user;
  if (typeof user === 'string' && user !== '') return user;
  throw new BadRequestException('user must be a text');
}
