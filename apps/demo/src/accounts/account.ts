import { ApiProperty } from '@nestjs/swagger';

export class Credentials {
  @ApiProperty({ example: 'grace' })
  user!: string;

  @ApiProperty({ example: 'ecarg' })
  password!: string;
}

export class Welcome {
  @ApiProperty()
  user!: string;
}
