import { Module } from '@nestjs/common';
import { StocktakingController } from './stocktaking.controller.js';

@Module({ controllers: [StocktakingController] })
export class StocktakingModule {}
