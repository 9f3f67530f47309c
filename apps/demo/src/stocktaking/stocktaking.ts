import { ApiProperty } from '@nestjs/swagger';

/** The lock of who counts. */
export const STOCKTAKING = 'stocktaking';

export class Stocktaking {
  @ApiProperty({ description: 'Process that counted' })
  worker!: number;

  @ApiProperty({
    description: 'Number of the lock: a later one is higher, so that a store can refuse what comes too late',
  })
  fence!: string;

  @ApiProperty({ description: 'Whether it could count to the end' })
  finished!: boolean;

  @ApiProperty({ description: 'Milliseconds from the start until it ended, or was told that its lock may be lost' })
  afterMs!: number;

  @ApiProperty({ required: false, description: 'Why it had to stop' })
  lost?: string;
}
