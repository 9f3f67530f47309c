export class AppModule {}
export { ClientsModule } from '@nestjs/microservices';
export declare const items: number[];
