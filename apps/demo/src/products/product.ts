import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';

export class NewProduct {
  @ApiProperty({ example: 'Tray' })
  name!: string;

  @ApiProperty({ example: 25 })
  price!: number;

  @ApiProperty({ example: 10 })
  stock!: number;
}

export class Product extends NewProduct {
  @ApiProperty()
  id!: number;
}

export class ProductChange {
  @ApiPropertyOptional()
  price?: number;

  @ApiPropertyOptional()
  stock?: number;
}
