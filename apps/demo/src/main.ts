import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import { AppModule } from './app.module.js';

const app = await NestFactory.create(AppModule, { logger: ['error', 'warn'] });
// Ctrl-C drains the consumer, releases locks and closes the connections before the process ends.
app.enableShutdownHooks();

const description = new DocumentBuilder()
  .setTitle('Shop')
  .setDescription('A small shop that shows the patterns of nestjs-redis-patterns')
  .setVersion('1.0')
  .build();
SwaggerModule.setup('docs', app, () => SwaggerModule.createDocument(app, description));

const port = Number(process.env.PORT ?? 3000);
await app.listen(port, '127.0.0.1');
const url = `http://127.0.0.1:${port}`;
console.log(`listening on ${url}

A live dashboard with buttons: ${url}/

Try:
  curl ${url}/products/1                          slow the first time, fast afterwards (@Cacheable)
  curl ${url}/products                            all of them, until one changes (a tag invalidates the list)
  curl -X PATCH ${url}/products/1 -H 'content-type: application/json' -d '{"price":99}'
                                                  the cache has the new price at once (@CachePut)
  curl -i -X POST ${url}/orders -H 'content-type: application/json' -H 'x-client: me' -d '{"productId":1}'
                                                  ten a minute for each client (@RateLimit), one at a time for each product (@WithLock)
  curl -i -X POST ${url}/orders -H 'content-type: application/json' -H 'idempotency-key: 1' -d '{"productId":1}'
                                                  again and again: it is one order, and its first answer (@Idempotent)
  curl -i -X POST ${url}/login -H 'content-type: application/json' -d '{"user":"grace","password":"wrong"}'
                                                  three wrong passwords lock the account for a minute (countWhen: 'failure')
  curl -i -X POST ${url}/login -H 'content-type: application/json' -d '{"user":"grace","password":"ecarg"}'
                                                  a session; with its cookie GET ${url}/login lists all of them (SessionService)
  curl ${url}/orders/<id>                         placed, then fulfilled by a consumer (@StreamConsumer)
  curl ${url}/sales/best-sellers                  what sold best this week (LeaderboardService)
  curl ${url}/sales/orders                        orders, newest first (FeedService)
  curl ${url}/visits/1                            views by day, and different visitors (CounterService, UniqueCounterService)
  curl ${url}/fulfilment                          lag, pending, retries and dead letters of that consumer (StreamAdmin)
  curl -X POST ${url}/fulfilment/strike            orders fail now, and are dead letters after three attempts; with DELETE it ends
  curl -X POST ${url}/fulfilment/replay            the dead letters are fulfilled after all
  curl -X POST ${url}/stocktaking                  one worker at a time; again meanwhile: 423 (LockService)
  curl ${url}/redis                               state and load of the connection, whatever Redis does
  curl ${url}/health                              each role of the connection, for a load balancer; /health/live for an orchestrator
  curl ${url}/metrics                             hits, limits, lock waits, lag, for Prometheus
  ${url}/docs                                     all of it in the browser`);
