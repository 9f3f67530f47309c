// Checked by tsc only: what must compile, and what must not.
import { Controller, Get, Injectable, type ExecutionContext } from '@nestjs/common';
import { definePolicy, type Policy } from '../../libs/redis-patterns/src/rate-limit/index.js';
import { RateLimit, SkipRateLimit } from '../../libs/redis-patterns/src/rate-limit/nest/index.js';

const policy = definePolicy('types', { limit: 5, window: '1m', by: (context) => context.getType() });
definePolicy('types', { limit: 5, window: '1m', by: (context: ExecutionContext) => context.getClass().name });
// @ts-expect-error a policy needs a window
definePolicy('types', { limit: 5 });
// @ts-expect-error not an algorithm
definePolicy('types', { limit: 5, window: '1m', algorithm: 'leaky' });
// @ts-expect-error not a duration
definePolicy('types', { limit: 5, window: '1 minute' });

const plain: Policy = { limit: 5, window: '1m' };

@Controller()
@RateLimit('api')
@SkipRateLimit('api')
export class Handlers {
  // A handler may be synchronous.
  @Get()
  @RateLimit(['api', policy], { by: 'user', cost: 2, skipIf: (context) => context.getType() === 'rpc' })
  sync(): string {
    return '';
  }

  @Get('by')
  @RateLimit(policy, {
    by: async (context) => context.getType(),
    cost: (context: ExecutionContext) => context.getArgs().length,
  })
  async byContext(): Promise<void> {}

  @Get('tenant')
  @RateLimit(policy, {
    // A header is `any` here.
    by: (context: ExecutionContext) => context.switchToHttp().getRequest().headers['x-tenant'],
    cost: () => 3,
  })
  byHeader(): string {
    return '';
  }

  @Get('inline')
  @RateLimit('api', {
    // Nest's own type, without a word of it here.
    by: (context) => context.switchToHttp().getRequest().headers['x-tenant'],
    cost: (context) => context.getArgs().length,
    skipIf: (context) => context.switchToHttp().getRequest().user?.admin === true,
  })
  inline(): void {}

  @Get('inline-typed')
  @RateLimit({ limit: 5, window: '1m' }, { by: (context) => context.switchToHttp().getRequest<{ ip: string }>().ip })
  @RateLimit({ limit: 5, window: '1m', by: (context) => context.switchToHttp().getRequest().user.id })
  async inlineTyped(): Promise<void> {}

  @Get('inline-list')
  @RateLimit([
    'api',
    policy,
    plain,
    { limit: 5, window: '1m', by: async (context) => context.getClass().name },
    {
      algorithm: 'token-bucket',
      limit: 5,
      window: '1m',
      burst: 9,
      by: (context) => context.switchToRpc().getData().id,
    },
  ])
  inlineList(): void {}

  @Get('no-subject')
  // @ts-expect-error there may be no text
  @RateLimit('api', { by: (context) => context.switchToHttp().getRequest<{ ip?: string }>().ip })
  noSubject(): void {}

  @Get('wrong-policy')
  // @ts-expect-error not an option of this algorithm
  @RateLimit({ algorithm: 'sliding-log', limit: 5, window: '1m', burst: 9 })
  wrongPolicy(): void {}

  @Get('failures')
  @RateLimit(['api', policy], { countWhen: 'failure' })
  failures(): void {}

  @Get('sometimes')
  // @ts-expect-error not a choice
  @RateLimit(policy, { countWhen: 'sometimes' })
  sometimes(): void {}

  @Get('wrong')
  // @ts-expect-error not a subject
  @RateLimit(policy, { by: 'address' })
  wrong(): void {}
}

@Injectable()
export class Methods {
  @RateLimit(policy, { by: (id: number) => `user:${id}`, cost: (_id: number, units: number) => units })
  async fits(_id: number, _units: number, _more?: string): Promise<void> {}

  @RateLimit(policy, { by: () => 'all', countWhen: 'failure' })
  async together(_id: number): Promise<void> {}

  // @ts-expect-error the method has other parameters
  @RateLimit(policy, { by: (id: string) => `user:${id}` })
  async otherParameters(_id: number): Promise<void> {}

  // @ts-expect-error the cost is asked for more than the method is given
  @RateLimit(policy, { by: (id: number) => `user:${id}`, cost: (_id: number, units: number) => units })
  async tooFewParameters(_id: number): Promise<void> {}

  // @ts-expect-error only asynchronous methods, where no guard does the work
  @RateLimit(policy, { by: (id: number) => `user:${id}` })
  sync(_id: number): void {}
}
