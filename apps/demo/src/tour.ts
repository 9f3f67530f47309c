// A visitor of two shops on one Redis, who looks whether everything happens that the patterns promise.
import { cache, memory, stampede, tags, writeThrough } from './tour/caching.js';
import { frozen, lastItem, workers } from './tour/coordination.js';
import { broadcast, deadLetter, fulfilled, journeys, sales, visits } from './tour/events.js';
import { lockOut, rateLimit, replay, session } from './tour/limits.js';
import { connection, doctor, operations } from './tour/operations.js';
import { newProduct } from './tour/visitor.js';

try {
  console.log(`A tour of the shop on ${process.env.REDIS_MODE ?? 'Redis'}:`);
  const product = await newProduct();
  await cache(product);
  await stampede();
  await tags();
  await memory(product);
  await writeThrough(product);
  await broadcast(product);
  await rateLimit(product);
  await lockOut();
  await session();
  await replay(product);
  const order = await lastItem(product);
  await fulfilled(order);
  await sales(product, order);
  await visits();
  await deadLetter(product);
  await journeys();
  await workers();
  await frozen();
  await connection();
  await doctor();
  await operations();
  console.log('Everything happened as promised.');
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
