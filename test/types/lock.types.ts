// Checked by the compiler: what `@WithLock` accepts and what it refuses.
import { WithLock } from 'nestjs-redis-patterns';
import type { Observable } from 'rxjs';

interface Receipt {
  total: number;
}

export class Accepted {
  @WithLock({ key: 'nightly' })
  async literal(): Promise<void> {}

  @WithLock({ key: ['order', 7], wait: '2s' })
  async parts(): Promise<void> {}

  @WithLock({ key: (id: number) => ['stock', id] })
  async fewerParametersInTheKey(_id: number, _amount: number): Promise<Receipt> {
    return { total: 1 };
  }

  @WithLock({ key: (id: number) => `stock:${id}`, onBusy: 'skip' })
  async skipped(_id: number): Promise<Receipt | undefined> {
    return undefined;
  }

  @WithLock({ key: (id: number) => ['stock', id], onBusy: (id: number) => ({ total: id }) })
  async answered(_id: number): Promise<Receipt> {
    return { total: 1 };
  }

  @WithLock({ key: 'order', fair: false, reentrant: true, lease: '5s', maxHold: '1m', onLost: 'ignore' })
  async everyOption(): Promise<void> {}

  @WithLock({ key: 'nightly', onBusy: 'skip' })
  async skippedWithoutResult(): Promise<void> {}

  @WithLock({ key: 'feed', onBusy: 'skip' })
  skippedStream(source: Observable<number>): Observable<number> {
    return source;
  }

  @WithLock({ key: 'feed' })
  streamed(source: Observable<number>): Observable<number> {
    return source;
  }
}

export class Refused {
  // @ts-expect-error a synchronous method
  @WithLock({ key: 'x' })
  synchronous(): number {
    return 1;
  }

  // @ts-expect-error a key function that does not fit the parameters
  @WithLock({ key: (id: string) => ['stock', id] })
  async wrongKey(_id: number): Promise<void> {}

  // @ts-expect-error an answer of another type than the method's
  @WithLock({ key: 'x', onBusy: () => 'busy' })
  async wrongAnswer(): Promise<Receipt> {
    return { total: 1 };
  }

  // @ts-expect-error a skipped call resolves to undefined, which the type must allow
  @WithLock({ key: 'x', onBusy: 'skip' })
  async wrongSkip(): Promise<Receipt> {
    return { total: 1 };
  }

  // @ts-expect-error a key function that may give nothing
  @WithLock({ key: (id?: string) => id })
  async noKeyForSome(_id?: string): Promise<void> {}

  // @ts-expect-error a locked method is always renewed, and has no signal of its caller but `locks.current()`
  @WithLock({ key: 'x', autoExtend: false })
  async notRenewed(): Promise<void> {}

  // @ts-expect-error no key: one lock for everything must be said
  @WithLock({ wait: '1s' })
  async noKey(): Promise<void> {}
}
