import { Controller, HttpCode, Post } from '@nestjs/common';
import { Experiments } from './experiments.js';
import { KilledConsumer } from './killed-consumer.js';
import type { Outcome } from './outcome.js';

/** What the buttons of the dashboard do. */
@Controller('dashboard')
export class ExperimentsController {
  constructor(
    private readonly experiments: Experiments,
    private readonly killedConsumer: KilledConsumer,
  ) {}

  @Post('stampede')
  @HttpCode(200)
  stampede(): Promise<Outcome> {
    return this.experiments.stampede();
  }

  @Post('burst')
  @HttpCode(200)
  burst(): Promise<Outcome> {
    return this.experiments.burst();
  }

  @Post('workers')
  @HttpCode(200)
  workers(): Promise<Outcome> {
    return this.experiments.workers();
  }

  @Post('poison')
  @HttpCode(200)
  poison(): Promise<Outcome> {
    return this.experiments.poison();
  }

  @Post('replay')
  @HttpCode(200)
  replay(): Promise<Outcome> {
    return this.experiments.replay();
  }

  @Post('login')
  @HttpCode(200)
  login(): Promise<Outcome> {
    return this.experiments.login();
  }

  @Post('logout')
  @HttpCode(200)
  logout(): Promise<Outcome> {
    return this.experiments.logout();
  }

  /** Only where Redis was started for the demo. */
  @Post('kill')
  @HttpCode(200)
  kill(): Promise<Outcome> {
    return this.killedConsumer.run();
  }

  /** Only where Redis was started for the demo, without Sentinels. */
  @Post('freeze')
  @HttpCode(200)
  freeze(): Promise<Outcome> {
    return this.experiments.freeze();
  }
}
