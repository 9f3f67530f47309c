// Checked by tsc only: what must compile, and what must not.
import { Controller, Get, Injectable, type ExecutionContext } from '@nestjs/common';
import { definePolicy } from '../../libs/redis-patterns/src/rate-limit/index.js';
import { RateLimit, SkipRateLimit } from '../../libs/redis-patterns/src/rate-limit/nest/index.js';

const policy = definePolicy('types', { limit: 5, window: '1m', by: (context) => context.getType() });
definePolicy('types', { limit: 5, window: '1m', by: (context: ExecutionContext) => context.getClass().name });
// @ts-expect-error a policy needs a window
definePolicy('types', { limit: 5 });
// @ts-expect-error not an algorithm
definePolicy('types', { limit: 5, window: '1m', algorithm: 'leaky' });
// @ts-expect-error not a duration
definePolicy('types', { limit: 5, window: '1 minute' });

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
