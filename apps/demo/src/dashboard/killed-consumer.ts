import { randomUUID } from 'node:crypto';
import { ConflictException, ForbiddenException, Injectable } from '@nestjs/common';
import { PACKING_LEASE } from '../fulfilment/fulfilment.consumer.js';
import type { Order } from '../orders/order.js';
import { throwaway } from '../redis/connection.js';
import { until } from '../until.js';
import type { Outcome } from './outcome.js';
import { OwnShop } from './own-shop.js';
import { PackerProcess } from './packer-process.js';
import { INTERRUPTED, STOCK } from './subjects.js';

/** Two who wait for messages get them by turns: the other process has one long before that. */
const MOST_ORDERS = 20;
/** Milliseconds for a process to boot, and for an order to be taken over: about one and a half leases. */
const PATIENCE = 20_000;

/** Kills a process in the middle of an order, and looks what becomes of the order. */
@Injectable()
export class KilledConsumer {
  constructor(private readonly shop: OwnShop) {}

  async run(): Promise<Outcome> {
    if (!throwaway()) throw new ForbiddenException('This Redis is not a throw-away one: no consumer is killed on it');
    await this.shop.send('PATCH', `/products/${INTERRUPTED}`, { stock: STOCK });
    const packer = new PackerProcess();
    try {
      const orders = await this.#orderUntilBegun(packer);
      await packer.kill();
      const killedAt = performance.now();
      const begun = packer.orders;
      const left = await until(
        () => this.#open(orders),
        ({ length }) => length === 0,
        PATIENCE,
      );
      const claimedAfterMs = Math.round(performance.now() - killedAt);
      const fulfilled = orders.length - left.length;
      const packedBy = (await this.#find(begun[0]!)).packedBy;
      return {
        words:
          `Process ${packer.pid} was killed (SIGKILL) in the middle of an order, which it never acknowledged. ` +
          (left.length === 0
            ? `When its lease of ${PACKING_LEASE / 1000} s was over, process ${packedBy} claimed the order and packed it, ` +
              `${(claimedAfterMs / 1000).toFixed(1)} s after the kill. `
            : 'Nobody has taken it over yet. ') +
          `${fulfilled} of ${orders.length} orders are fulfilled.`,
        figures: {
          orders: orders.length,
          interrupted: begun.length,
          fulfilled,
          killed: packer.pid,
          packedBy,
          claimedAfterMs,
        },
      };
    } finally {
      await packer.kill();
    }
  }

  /** Orders, one after the other, until that process is in the middle of one. */
  async #orderUntilBegun(packer: PackerProcess): Promise<string[]> {
    await until(
      () => packer.ready || !packer.running,
      (decided) => decided,
      PATIENCE,
    );
    if (!packer.ready) throw new ConflictException('The second process did not start: see what the shop printed');
    const ids: string[] = [];
    while (packer.orders.length === 0) {
      if (ids.length === MOST_ORDERS) throw new ConflictException('Others have taken all orders: try again');
      const { status, body } = await this.shop.send<Order>(
        'POST',
        '/orders',
        { productId: INTERRUPTED },
        randomUUID(), // a client of its own each: not what the limit is about
      );
      if (status !== 201) throw new ConflictException(`The order was answered with ${status}`);
      ids.push(body.id);
      await until(
        async () => packer.orders.length > 0 || (await this.#open([body.id])).length === 0,
        (taken) => taken,
      );
    }
    return ids;
  }

  /** Those that are not fulfilled. */
  async #open(ids: readonly string[]): Promise<string[]> {
    const orders = await Promise.all(ids.map((id) => this.#find(id)));
    return orders.filter(({ status }) => status !== 'fulfilled').map(({ id }) => id);
  }

  async #find(id: string): Promise<Order> {
    return (await this.shop.send<Order>('GET', `/orders/${id}`)).body;
  }
}
