// Checked by the compiler: what `@Idempotent` accepts and what it refuses.
import { Idempotent, type IdempotencyService } from 'nestjs-redis-patterns';
import type { Observable } from 'rxjs';

export class Handlers {
  @Idempotent()
  synchronous(): number {
    return 1;
  }

  @Idempotent({ ttl: '1h', store: '4xx', scope: async () => 7, required: false, header: 'X-Key' })
  async asynchronous(): Promise<void> {}
}

export class Methods {
  @Idempotent({ key: (id: string) => ['payment', id], lease: '1m', onStoreError: 'open' })
  async pay(_id: string, _amount: number): Promise<number> {
    return 1;
  }

  @Idempotent({ key: (id: string) => id, fingerprint: (_id: string, amount: number) => amount })
  observed(_id: string, _amount: number): Observable<number> {
    throw new Error('only compiled');
  }
}

export class Refused {
  // @ts-expect-error a synchronous method
  @Idempotent({ key: (id: string) => id })
  synchronous(_id: string): number {
    return 1;
  }

  // @ts-expect-error a key function that does not fit the parameters
  @Idempotent({ key: (id: string) => ['payment', id] })
  async wrongKey(_id: number): Promise<void> {}

  // @ts-expect-error a fingerprint that does not fit the parameters
  @Idempotent({ key: (id: number) => ['payment', id], fingerprint: (id: string) => id })
  async wrongFingerprint(_id: number): Promise<void> {}

  // @ts-expect-error a key function that may give nothing
  @Idempotent({ key: (id?: string) => id })
  async noKeyForSome(_id?: string): Promise<void> {}

  // @ts-expect-error an option of handlers beside that of methods
  @Idempotent({ key: (id: string) => id, store: 'all' })
  async mixed(_id: string): Promise<void> {}
}

export async function run(service: IdempotencyService): Promise<number> {
  // @ts-expect-error no payload to compare
  await service.run('key', () => 1);
  return service.run('key', 'fingerprint', ({ fence, signal }) => (signal.aborted ? 0 : Number(fence)), { ttl: '1h' });
}
