import { expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Type } from 'class-transformer';
import { IsDate, IsInt, IsPositive, IsString, ValidateNested } from 'class-validator';
import { defineStream, StreamAdmin, StreamProducer } from '../../../libs/redis-patterns/src/stream/index.js';
import { MessageBody, StreamConsumer } from '../../../libs/redis-patterns/src/stream/nest/index.js';
import { eventually } from '../../support/eventually.js';
import { describeOn } from '../../support/topologies.js';
import { orders, useApplications } from './nest-app.js';

class Item {
  @IsString() readonly sku!: string;
  @IsInt() @IsPositive() readonly count!: number;
}
class Order {
  @IsInt() readonly id!: number;
  @IsDate() @Type(() => Date) readonly at!: Date;
  @ValidateNested({ each: true }) @Type(() => Item) readonly items!: Item[];

  get pieces(): number {
    return this.items.reduce((sum, { count }) => sum + count, 0);
  }
}

@Injectable()
class Billing {
  readonly seen: Order[] = [];
  @StreamConsumer({ ...orders, schema: Order })
  async bill(@MessageBody() order: Order): Promise<void> {
    this.seen.push(order);
  }
}

// What a class says of a payload does not depend on the deployment.
describeOn('standalone', 'a class for class-validator as schema', { user: 'stream' }, (topology) => {
  const nest = useApplications(topology);
  const at = '2026-11-30T12:00:00.000Z';

  it('gives the handler an instance, and makes a dead letter of what does not fit', async () => {
    await nest.boot({ providers: [Billing] });
    await nest.publish({
      id: 1,
      at,
      items: [
        { sku: 'a', count: 2 },
        { sku: 'b', count: 3 },
      ],
    });
    await nest.publish({ id: 'two', at, items: [{ sku: 'c', count: 0 }] });
    await nest.publish('no order');
    const { seen } = nest.app.get(Billing);
    const letters = nest.app.get(StreamAdmin).deadLetters('orders', 'g');
    await eventually(async () => expect([seen.length, await letters.count()]).toEqual([1, 2]));
    expect(seen[0]).toBeInstanceOf(Order);
    expect([seen[0]!.at, seen[0]!.pieces]).toEqual([new Date(at), 5]);
    const found = await letters.list();
    const [wrong] = found.filter(({ body }) => body !== 'no order');
    expect(found).toHaveLength(2);
    expect(found.map(({ reason, attempts }) => [reason, attempts])).toEqual(Array(2).fill(['validation', 0]));
    expect(wrong!.error).toMatch(/id: id must be an integer.*items\.0\.count: count must be a positive number/);
  });

  it('refuses to publish what does not fit the stream', async () => {
    await nest.boot({});
    const placed = defineStream<{ placed: Order }>({ name: 'placed', schema: { placed: Order } });
    const producer = nest.app.get(StreamProducer);
    const publish = (payload: unknown) => producer.publish(placed, payload as Order, { type: 'placed' });
    await expect(publish({ id: 1.5, at, items: [] })).rejects.toMatchObject({
      code: 'ERR_STREAM_INVALID',
      issues: ['id: id must be an integer number'],
    });
    expect(await publish({ id: 1, at, items: [] })).toMatch(/^\d+-\d+$/);
  });
});
