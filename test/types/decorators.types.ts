// Compiled, never run: what a method decorator accepts and refuses at compile time. Each `@ts-expect-error` is a test.
import type { Observable, Subject } from 'rxjs';
import {
  decorateMethod,
  type AsyncMethod,
  type AsyncMethodDecorator,
  type FitsMethod,
  type InstanceTarget,
  type MethodPattern,
  type MethodResult,
} from '../../libs/redis-patterns/src/nest/method-decorator/index.js';

interface Product {
  readonly id: number;
}

declare const pattern: MethodPattern<object>;

type AnyFunction = (...args: never[]) => unknown;

/** Like `@Cacheable`: functions of the arguments, and a type of what is stored. */
function Stored<Key extends (...args: never[]) => readonly unknown[], Tags extends (...args: never[]) => string[]>(
  options: { key?: Key; tags?: Tags | string[] } = {},
): AsyncMethodDecorator<Key | Tags> {
  return decorateMethod(pattern, options);
}

/** Like a region made by `defineCache<[id: number], Product>()`. */
function Region<Value>(_value: (value: Value) => void): AsyncMethodDecorator<(id: number) => unknown, Value> {
  return decorateMethod(pattern, {});
}

/** Like `@WithLock({ onBusy })`: a function that answers in place of the method. */
function Busy<OnBusy extends AnyFunction>(
  onBusy: OnBusy,
): <M extends AsyncMethod>(
  target: InstanceTarget,
  key: string | symbol,
  descriptor: TypedPropertyDescriptor<M> & FitsMethod<M, OnBusy, MethodResult<M> | ReturnType<M>>,
) => void {
  return decorateMethod(pattern, { onBusy });
}

const symbolName = Symbol('symbolName');

export class Accepted {
  @Stored()
  async plain(): Promise<number> {
    return 1;
  }

  @Stored({ key: (id: number) => ['product', id] })
  async fewerParametersInTheKey(id: number, _locale: string): Promise<Product> {
    return { id };
  }

  @Stored({ key: (id: number, locale: string) => [id, locale], tags: (id: number) => [`p${id}`] })
  async functionsOfDifferentLength(id: number, _locale: string): Promise<Product> {
    return { id };
  }

  @Stored({ key: (id: number | string) => [id], tags: ['products'] })
  async widerParameterInTheKey(id: number): Promise<Product> {
    return { id };
  }

  @Stored({ key: (id: number, locale?: string) => [id, locale] })
  async optionalParameter(id: number, _locale?: string): Promise<Product> {
    return { id };
  }

  @Stored({ key: (...ids: number[]) => ids })
  async restParameters(...ids: number[]): Promise<Product[]> {
    return ids.map((id) => ({ id }));
  }

  @Stored()
  async generic<T>(value: T): Promise<T> {
    return value;
  }

  @Stored()
  declaredObservable(source: Observable<Product>): Observable<Product> {
    return source;
  }

  @Stored()
  async [symbolName](): Promise<void> {}

  @Region((_value: Product) => undefined)
  async ofTheRegion(id: number): Promise<Product & { readonly name: string }> {
    return { id, name: '' };
  }

  @Region((_value: Product) => undefined)
  observableOfTheRegion(_id: number, source: Subject<Product>): Observable<Product> {
    return source;
  }

  @Busy((id: number) => ({ id }))
  async answered(id: number): Promise<Product> {
    return { id };
  }
}

export class Refused {
  // @ts-expect-error a synchronous method
  @Stored()
  synchronous(): number {
    return 1;
  }

  // @ts-expect-error a method that gives nothing
  @Stored()
  nothing(): void {}

  // @ts-expect-error a method that is only sometimes asynchronous
  @Stored()
  sometimes(): Promise<number> | number {
    return 1;
  }

  // @ts-expect-error a generator
  @Stored()
  async *generated(): AsyncGenerator<number> {
    yield 1;
  }

  // @ts-expect-error a static method
  @Stored()
  static async onTheClass(): Promise<number> {
    return 1;
  }

  // @ts-expect-error an accessor
  @Stored()
  get accessor(): Promise<number> {
    return Promise.resolve(1);
  }

  // @ts-expect-error a property, even when it holds a function
  @Stored()
  property = async (): Promise<number> => 1;

  // @ts-expect-error a key function of another parameter type
  @Stored({ key: (id: string) => [id] })
  async otherParameter(id: number): Promise<Product> {
    return { id };
  }

  // @ts-expect-error a key function of more parameters than there are
  @Stored({ key: (id: number, locale: string) => [id, locale] })
  async tooFewParameters(id: number): Promise<Product> {
    return { id };
  }

  // @ts-expect-error a key function that does not reckon with an absent argument
  @Stored({ key: (locale: string) => [locale] })
  async maybeAbsent(_locale?: string): Promise<number> {
    return 1;
  }

  // @ts-expect-error one of two functions does not fit
  @Stored({ key: (id: number) => [id], tags: (name: string) => [name] })
  async oneOfTwo(id: number): Promise<Product> {
    return { id };
  }

  // @ts-expect-error the region stores products
  @Region((_value: Product) => undefined)
  async notOfTheRegion(id: number): Promise<string> {
    return String(id);
  }

  // @ts-expect-error an answer of another type than the method's
  @Busy(() => 'busy')
  async wrongAnswer(id: number): Promise<Product> {
    return { id };
  }
}
