import { Module } from '@nestjs/common';
import { ParcelsConsumer } from './parcels.consumer.js';
import { ParcelsController } from './parcels.controller.js';

@Module({ controllers: [ParcelsController], providers: [ParcelsConsumer] })
export class ParcelsModule {}
