import { Module } from '@nestjs/common';
import { VisitsModule } from '../visits/visits.module.js';
import { ProductsController } from './products.controller.js';
import { ProductsRepository } from './products.repository.js';
import { StockModule } from '../stock/stock.module.js';
import { ProductsService } from './products.service.js';

@Module({
  imports: [VisitsModule, StockModule],
  controllers: [ProductsController],
  providers: [ProductsService, ProductsRepository],
  exports: [ProductsService],
})
export class ProductsModule {}
