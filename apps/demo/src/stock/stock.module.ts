import { Module } from '@nestjs/common';
import { StockBoard } from './stock-board.js';
import { StockController } from './stock.controller.js';

@Module({ controllers: [StockController], providers: [StockBoard], exports: [StockBoard] })
export class StockModule {}
