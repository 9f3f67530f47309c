import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';

export class Product {
  @ApiProperty()
  id!: number;

  @ApiProperty()
  name!: string;

  @ApiProperty()
  price!: number;

  @ApiProperty()
  stock!: number;
}

export class ProductChange {
  @ApiPropertyOptional()
  price?: number;

  @ApiPropertyOptional()
  stock?: number;
}
