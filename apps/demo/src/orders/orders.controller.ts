import { BadRequestException, Body, Controller, Get, Param, Post, type ExecutionContext } from '@nestjs/common';
import {
  ApiConflictResponse,
  ApiCreatedResponse,
  ApiHeader,
  ApiOkResponse,
  ApiTooManyRequestsResponse,
} from '@nestjs/swagger';
import type { Request } from 'express';
import { definePolicy, Idempotent, RateLimit } from 'nestjs-redis-patterns';
import { NewOrder, Order } from './order.js';
import { OrdersService } from './orders.service.js';

/** Ten orders a minute for each client, never more in any minute. */
export const orderPolicy = definePolicy('orders', {
  algorithm: 'sliding-window',
  limit: 10,
  window: '1m',
  by: (context: ExecutionContext) => clientOf(context.switchToHttp().getRequest<Request>()),
});

@Controller('orders')
export class OrdersController {
  constructor(private readonly orders: OrdersService) {}

  @Post()
  @RateLimit(orderPolicy)
  @Idempotent({ required: false })
  @ApiHeader({ name: 'x-client', required: false, description: 'Stands for a login; the address without it' })
  @ApiHeader({
    name: 'idempotency-key',
    required: false,
    description: 'The same order with the same key is placed once',
  })
  @ApiCreatedResponse({ type: Order })
  @ApiConflictResponse({ description: 'Sold out' })
  @ApiTooManyRequestsResponse({ description: 'More than ten orders in a minute; Retry-After says when to come back' })
  place(@Body() body?: NewOrder): Promise<Order> {
    const productId = body?.productId;
    if (productId === undefined || !Number.isSafeInteger(productId))
      throw new BadRequestException('productId must be an integer');
    return this.orders.place(productId);
  }

  @Get(':id')
  @ApiOkResponse({ type: Order })
  find(@Param('id') id: string): Promise<Order> {
    return this.orders.find(id);
  }
}

function clientOf(request: Request): string {
  const client = request.headers['x-client'];
  return typeof client === 'string' && client !== '' ? `client:${client}` : `ip:${request.ip}`;
}
