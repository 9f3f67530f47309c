import {
  BadRequestException,
  Body,
  Controller,
  Get,
  Headers,
  Ip,
  Param,
  ParseIntPipe,
  Patch,
  Post,
} from '@nestjs/common';
import { ApiBadRequestResponse, ApiCreatedResponse, ApiNotFoundResponse, ApiOkResponse } from '@nestjs/swagger';
import { CacheService, type CacheStats } from 'nestjs-redis-patterns';
import { VisitsService } from '../visits/visits.service.js';
import { NewProduct, Product, ProductChange } from './product.js';
import { ProductsService } from './products.service.js';

@Controller('products')
@ApiBadRequestResponse({ description: 'What was sent is no product' })
export class ProductsController {
  constructor(
    private readonly products: ProductsService,
    private readonly cache: CacheService,
    private readonly visits: VisitsService,
  ) {}

  @Get()
  @ApiOkResponse({ type: [Product] })
  list(): Promise<Product[]> {
    return this.products.list();
  }

  /** What this process has seen of the cache. */
  @Get('cache')
  stats(): CacheStats {
    return this.cache.stats();
  }

  @Get(':id')
  @ApiOkResponse({ type: Product })
  @ApiNotFoundResponse({ description: 'No such product' })
  async find(
    @Param('id', ParseIntPipe) id: number,
    @Ip() address: string,
    @Headers('x-client') client?: string,
  ): Promise<Product> {
    const product = await this.products.find(id);
    this.visits.count(id, client || address);
    return product;
  }

  @Post()
  @ApiCreatedResponse({ type: Product })
  create(@Body() body?: NewProduct): Promise<Product> {
    const name: unknown = body?.name;
    if (typeof name !== 'string' || name === '') throw new BadRequestException('name must be a text');
    return this.products.create({ name, price: amount('price', body?.price), stock: amount('stock', body?.stock) });
  }

  @Patch(':id')
  @ApiOkResponse({ type: Product })
  @ApiNotFoundResponse({ description: 'No such product' })
  change(@Param('id', ParseIntPipe) id: number, @Body() body?: ProductChange): Promise<Product> {
    return this.products.change(id, {
      ...(body?.price === undefined ? {} : { price: amount('price', body.price) }),
      ...(body?.stock === undefined ? {} : { stock: amount('stock', body.stock) }),
    });
  }
}

function amount(field: string, value: unknown): number {
  if (Number.isSafeInteger(value) && Number(value) >= 0) return Number(value);
  throw new BadRequestException(`${field} must be a whole number from 0`);
}
