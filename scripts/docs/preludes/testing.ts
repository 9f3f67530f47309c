export class AppModule {}
export class Api {}
export declare class ProductService {
  readonly loads: number;
  byId(id: number): Promise<{ id: number }>;
}
/** Of Jest. */
export declare function expect(value: unknown): { toBe(expected: unknown): void; toEqual(expected: unknown): void };
