export class AppModule {}
export declare function seal(data: unknown): Promise<string>;
export declare function open(data: unknown): Promise<unknown>;
export declare const bus: import('@nestjs/microservices').ClientProxy;
export declare const orderId: string;
export declare const tenant: string;
