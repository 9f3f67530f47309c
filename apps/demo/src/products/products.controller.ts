import { Body, Controller, Get, Param, ParseIntPipe, Patch } from '@nestjs/common';
import { ApiOkResponse } from '@nestjs/swagger';
import { Product, ProductChange } from './product.js';
import { ProductsService } from './products.service.js';

@Controller('products')
export class ProductsController {
  constructor(private readonly products: ProductsService) {}

  @Get(':id')
  @ApiOkResponse({ type: Product })
  find(@Param('id', ParseIntPipe) id: number): Promise<Product> {
    return this.products.find(id);
  }

  @Patch(':id')
  @ApiOkResponse({ type: Product })
  change(@Param('id', ParseIntPipe) id: number, @Body() { price, stock }: ProductChange): Promise<Product> {
    return this.products.change(id, {
      ...(price === undefined ? {} : { price }),
      ...(stock === undefined ? {} : { stock }),
    });
  }
}
