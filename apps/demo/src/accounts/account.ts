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

/** What a session of the shop holds. */
export interface Visit {
  readonly device: string;
}

export class OpenSession {
  /** Names the session; nobody can use it. */
  @ApiProperty()
  handle!: string;

  @ApiProperty()
  device!: string;

  @ApiProperty({ description: 'Whether it is the one that asks' })
  current!: boolean;
}
