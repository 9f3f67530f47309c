import { Module } from '@nestjs/common';
import { SalesModule } from '../sales/sales.module.js';
import { VisitsModule } from '../visits/visits.module.js';
import { DashboardController } from './dashboard.controller.js';
import { ExperimentsController } from './experiments.controller.js';
import { Experiments } from './experiments.js';
import { OwnShop } from './own-shop.js';
import { SnapshotService } from './snapshot.js';

@Module({
  imports: [SalesModule, VisitsModule],
  controllers: [DashboardController, ExperimentsController],
  providers: [SnapshotService, Experiments, OwnShop],
})
export class DashboardModule {}
