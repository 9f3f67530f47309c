import { expect, it } from '@jest/globals';
import {
  ClassTypes,
  CodecError,
  pack,
  unpack,
  ValueCodec,
  type CompressionAlgorithm,
} from '../../../libs/redis-patterns/src/codec/index.js';
import { describeOnEachTopology } from '../../support/topologies.js';

class Order {
  readonly lines: { sku: string; added: Date }[] = [];
  total = 0n;
  get size(): number {
    return this.lines.length;
  }
}

function orderOf(lines: number): Order {
  const order = new Order();
  for (let line = 0; line < lines; line++) order.lines.push({ sku: `Teekanne grün ☕ ${line}`, added: new Date(line) });
  order.total = BigInt(lines) ** 20n;
  return order;
}

const codec = new ValueCodec(new ClassTypes([Order]));
const header = (id: string, compression: string) => `~1;v=;i=a;w=0;d=1;s=0;c=${id};z=${compression};k=;g=\n`;

describeOnEachTopology('encoded values in Redis', (topology) => {
  const keyOf = (name: string) => `${topology.namespace}:cache:${name}`;

  // 10 lines are stored as they are, 100 are compressed at once, 3000 on another thread.
  it.each(
    (['gzip', 'brotli'] as const).flatMap((algorithm) => [10, 100, 3_000].map((lines) => [algorithm, lines] as const)),
  )('come back through GET as text, %s of %d lines', async (algorithm: CompressionAlgorithm, lines) => {
    const order = orderOf(lines);
    const { codec: id, text } = codec.encode(order);
    const { compression, payload } = await pack(text, { over: 2048, algorithm, maxOutput: 16 * 1024 ** 2 });
    expect(compression === '').toBe(lines === 10);
    const key = keyOf(`${algorithm}:${lines}`);
    const { client } = topology.admin;
    await client.set(key, header(id, compression) + payload, 'PX', 60_000);

    const stored = (await client.get(key))!;
    expect(stored.startsWith(header(id, compression))).toBe(true);
    const read = { compression, payload: stored.slice(stored.indexOf('\n') + 1) };
    const copy = codec.decode(id, await unpack(read)) as Order;
    expect(copy).toStrictEqual(order);
    expect(copy.size).toBe(lines);
    if (compression === '') return;
    expect(await client.strlen(key)).toBeLessThan(Buffer.byteLength(text) / 2);
    // One byte of it is lost, as by SETRANGE of somebody else.
    const damaged = { compression, payload: read.payload.slice(0, 200) + read.payload.slice(201) };
    await expect((async () => unpack(damaged))()).rejects.toBeInstanceOf(CodecError);
  });
});
