import { Module } from '@nestjs/common';
import { SalesModule } from '../sales/sales.module.js';
import { VisitsModule } from '../visits/visits.module.js';
import { DashboardController } from './dashboard.controller.js';
import { ExperimentsController } from './experiments.controller.js';
import { Experiments } from './experiments.js';
import { KilledConsumer } from './killed-consumer.js';
import { LoadTimes } from './load-times.js';
import { OwnShop } from './own-shop.js';
import { SnapshotService } from './snapshot.js';

@Module({
  imports: [SalesModule, VisitsModule],
  controllers: [DashboardController, ExperimentsController],
  providers: [SnapshotService, LoadTimes, Experiments, KilledConsumer, OwnShop],
})
export class DashboardModule {}
