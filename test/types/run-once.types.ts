// Checked by the compiler: what `@RunOnce` accepts and what it refuses.
import { RunOnce } from 'nestjs-redis-patterns';
import type { Observable } from 'rxjs';

export class Accepted {
  @RunOnce({ name: 'nightly', per: (now) => now.toISOString().slice(0, 10) })
  async bySlot(): Promise<void> {}

  @RunOnce({ name: 'hourly', per: '1h', tolerance: '10m', overlap: true, onUnavailable: 'skip' })
  async byDistance(): Promise<number | undefined> {
    return 1;
  }

  @RunOnce({ name: 'feed', per: (now) => now.getTime() })
  streamed(source: Observable<number>): Observable<number> {
    return source;
  }
}

export class Refused {
  // @ts-expect-error a skipped run resolves to undefined, which the type must allow
  @RunOnce({ name: 'nightly', per: '1d' })
  async result(): Promise<number> {
    return 1;
  }

  // @ts-expect-error a synchronous method
  @RunOnce({ name: 'nightly', per: '1d' })
  synchronous(): void {}

  // @ts-expect-error no name
  @RunOnce({ per: '1d' })
  async unnamed(): Promise<void> {}

  // @ts-expect-error no slot
  @RunOnce({ name: 'nightly' })
  async always(): Promise<void> {}
}
