import { Controller, Get, NotFoundException, Param, ParseIntPipe } from '@nestjs/common';
import { ApiNotFoundResponse } from '@nestjs/swagger';
import { StockBoard } from './stock-board.js';

@Controller('stock')
export class StockController {
  constructor(private readonly board: StockBoard) {}

  /** What this process was told. */
  @Get(':id')
  @ApiNotFoundResponse({ description: 'It was told nothing of that product' })
  find(@Param('id', ParseIntPipe) productId: number): { stock: number } {
    const stock = this.board.get(productId);
    if (stock === undefined) throw new NotFoundException(`Nothing is known of product ${productId}`);
    return { stock };
  }
}
