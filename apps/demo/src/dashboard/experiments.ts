import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { ConflictException, ForbiddenException, Injectable } from '@nestjs/common';
import { CacheService, LockService, SessionService, StreamAdmin, type DeadLetter } from 'nestjs-redis-patterns';
import { FULFILMENT } from '../fulfilment/fulfilment.consumer.js';
import { orderEvents, type Order } from '../orders/order.js';
import { freezable } from '../redis/connection.js';
import { STOCKTAKING, type Stocktaking } from '../stocktaking/stocktaking.js';
import { until } from '../until.js';
import { times, type Outcome } from './outcome.js';
import { OwnShop, type Answer } from './own-shop.js';
import { BUYER, ORDERED, POISONED, STAMPEDED, STOCK, USER } from './subjects.js';

const READS = 50;
const VISITORS = 10;
const ORDERS = 15;
/** Milliseconds that the lock of the stocktaking is leased for. */
const LEASE = 1000;

/** Causes what goes wrong in a shop, and tells what the patterns made of it. */
@Injectable()
export class Experiments {
  constructor(
    private readonly shop: OwnShop,
    private readonly cache: CacheService,
    private readonly locks: LockService,
    private readonly streams: StreamAdmin,
    private readonly sessions: SessionService,
  ) {}

  /** Many readers of a product that is not in the cache. */
  async stampede(): Promise<Outcome> {
    await this.cache.evict(['product', STAMPEDED]);
    const before = this.cache.stats().loads;
    const answers = await Promise.all(
      Array.from({ length: READS }, (_, n) =>
        this.shop.send('GET', `/products/${STAMPEDED}`, undefined, `visitor-${n % VISITORS}`),
      ),
    );
    const loads = this.cache.stats().loads - before;
    const answered = answers.filter(({ status }) => status === 200).length;
    return {
      words:
        `${READS} requests at once for a product that was just evicted: ${answered} were answered, and the database ` +
        `was read ${times(loads)}. The others waited for that one load.`,
      figures: { requests: READS, answered, loads },
    };
  }

  /** One client that orders too much. */
  async burst(): Promise<Outcome> {
    await this.shop.send('PATCH', `/products/${ORDERED}`, { stock: STOCK });
    const answers = await Promise.all(Array.from({ length: ORDERS }, () => this.#order(BUYER)));
    const allowed = answers.filter(({ status }) => status === 201).length;
    const refused = answers.filter(({ status }) => status === 429);
    const retryAfter = refused[0]?.headers.get('retry-after');
    return {
      words:
        `${ORDERS} orders of one client at once: ${allowed} allowed, ${refused.length} refused with 429` +
        (retryAfter ? `, to come back in ${retryAfter} s.` : '.'),
      figures: { orders: ORDERS, allowed, refused: refused.length, retryAfter: Number(retryAfter ?? 0) },
    };
  }

  /** Two workers at once, and one who waits in the queue. */
  async workers(): Promise<Outcome> {
    const both = [this.#count(), this.#count()];
    // Counting takes long: who is answered first was refused, so that the lock is held now.
    await Promise.race(both);
    const waiting = this.#count(5);
    const answers = await Promise.all(both);
    const counted = answers.filter(({ status }) => status === 200);
    const refused = answers.filter(({ status }) => status === 423).length;
    const next = await waiting;
    const [fence, nextFence] = [counted[0]?.body.fence, next.status === 200 ? next.body.fence : undefined];
    return {
      words:
        `Two workers began one stocktaking: ${counted.length} counted (fence ${fence ?? 'none'}), ${refused} was told ` +
        `at once that another one does. A third waited in the queue and counted next (fence ${nextFence ?? 'none'}).`,
      figures: { counted: counted.length, refused, fence, nextFence },
    };
  }

  /** An order that cannot be fulfilled, however often it is tried. */
  async poison(): Promise<Outcome> {
    await this.shop.send('PATCH', `/products/${POISONED}`, { stock: STOCK });
    await this.shop.send('POST', '/fulfilment/strike');
    try {
      const { status, body } = await this.#order(randomUUID(), POISONED);
      if (status !== 201) throw new ConflictException(`The order was answered with ${status}`);
      const letter = await until(
        () => this.#letterOf(body.id),
        (found) => found !== undefined,
      );
      return {
        words: letter
          ? `The carrier went on strike, so an order failed ${times(letter.attempts)} (“${letter.error}”). It is a dead ` +
            'letter now: out of the way of the other orders, and not lost. Replay it.'
          : 'The order has not become a dead letter yet: its attempts still go on.',
        figures: { attempts: letter?.attempts ?? 0, deadLetters: letter ? 1 : 0 },
      };
    } finally {
      await this.shop.send('DELETE', '/fulfilment/strike');
    }
  }

  /** Another chance for all that failed for good. */
  async replay(): Promise<Outcome> {
    const { body } = await this.shop.send<{ replayed: number }>('POST', '/fulfilment/replay');
    const lag = await until(
      () => this.streams.lag(orderEvents, FULFILMENT),
      (now) => now !== undefined && now.retries + now.deadLetters === 0,
    );
    const left = (lag?.retries ?? 0) + (lag?.deadLetters ?? 0);
    return {
      words:
        body.replayed === 0
          ? 'There was no dead letter to replay.'
          : `${body.replayed} dead ${body.replayed === 1 ? 'letter was' : 'letters were'} replayed; ${left} left over.`,
      figures: { replayed: body.replayed, left },
    };
  }

  async login(): Promise<Outcome> {
    const password = Array.from(USER).toReversed().join('');
    const { status } = await this.shop.send('POST', '/login', { user: USER, password });
    if (status !== 200) throw new ConflictException(`The login was answered with ${status}`);
    const sessions = (await this.sessions.listByPrincipal(USER)).length;
    return {
      words: `Logged in once more: the user ${USER} has ${sessions} open session${sessions === 1 ? '' : 's'}.`,
      figures: { sessions },
    };
  }

  async logout(): Promise<Outcome> {
    const ended = await this.sessions.destroyAllOf(USER);
    return { words: `Logged out everywhere: ${ended} ended at once, on all devices.`, figures: { ended } };
  }

  /** Redis hangs while a worker counts. */
  async freeze(): Promise<Outcome> {
    if (!freezable()) throw new ForbiddenException('This Redis is not a throw-away one: it is not frozen');
    const counting = this.#count();
    await delay(100);
    const began = performance.now();
    await this.shop.send('POST', '/redis/freeze');
    const { status, body } = await counting;
    if (status !== 200) throw new ConflictException('Another worker is counting: try again when it is done');
    await until(
      () =>
        this.locks.inspect(STOCKTAKING).then(
          () => true,
          () => false,
        ),
      (answers) => answers,
    );
    const backAfterMs = Math.round(performance.now() - began);
    const told =
      body.lost === undefined
        ? 'the worker counted to the end all the same'
        : `the worker was told after ${body.afterMs} ms that its lock may be lost (${body.lost})` +
          (body.afterMs < LEASE ? ', before its lease of 1 s was over' : '');
    return {
      words: `Redis answered nobody while a worker counted: ${told}. Redis was back after ${backAfterMs} ms.`,
      figures: { afterMs: body.afterMs, lost: body.lost, backAfterMs },
    };
  }

  #order(client: string, productId = ORDERED): Promise<Answer<Order>> {
    return this.shop.send<Order>('POST', '/orders', { productId }, client);
  }

  #count(wait = 0): Promise<Answer<Stocktaking>> {
    return this.shop.send<Stocktaking>('POST', `/stocktaking?wait=${wait}`);
  }

  async #letterOf(orderId: string): Promise<DeadLetter | undefined> {
    const letters = await this.streams.deadLetters(orderEvents, FULFILMENT).list();
    return letters.find(({ body }) => (body as Partial<{ orderId: string }> | undefined)?.orderId === orderId);
  }
}
