export class AppModule {}
export declare function seal(data: unknown): Promise<string>;
export declare function open(data: unknown): Promise<unknown>;
