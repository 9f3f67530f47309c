import { once } from 'node:events';
import net from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Cluster } from 'ioredis';
import { eventually } from '../support/eventually.js';
import {
  describeOn,
  startOwn,
  startProxies,
  startProxy,
  type FaultProxy,
  type Topology,
} from '../support/topologies.js';

/** A client without any opinion about faults. */
class Line {
  received = '';
  closed: 'end' | 'reset' | undefined;
  readonly #socket: net.Socket;

  private constructor(port: number) {
    this.#socket = net.connect({ host: '127.0.0.1', port, noDelay: true });
    this.#socket.on('data', (data) => (this.received += data.toString()));
    this.#socket.on('end', () => (this.closed ??= 'end'));
    this.#socket.on('error', () => (this.closed ??= 'reset'));
  }

  static async open(port: number): Promise<Line> {
    const line = new Line(port);
    await once(line.#socket, 'connect');
    return line;
  }

  write(text: string): void {
    this.#socket.write(`${text}\r\n`);
  }

  close(): void {
    this.#socket.destroy();
  }
}

describe('the fault proxy', () => {
  let own: Topology;
  let proxy: FaultProxy;
  let line: Line;
  const redis = (...args: string[]): Promise<unknown> => own.nodes[0]!.command(...args);

  beforeAll(async () => {
    own = await startOwn('standalone');
  });
  afterAll(() => own.stop());
  beforeEach(async () => {
    await redis('FLUSHALL');
    proxy = await startProxy(own.nodes[0]!);
    line = await Line.open(proxy.port);
    line.write('PING');
    await eventually(() => line.received === '+PONG\r\n');
    line.received = '';
  });
  afterEach(async () => {
    line.close();
    await proxy.close();
  });

  it('passes everything on and counts the bytes', async () => {
    const before = [proxy.bytesUp, proxy.bytesDown];
    line.write('ECHO hello');
    await eventually(() => line.received === '$5\r\nhello\r\n');
    expect([proxy.bytesUp, proxy.bytesDown]).toEqual([before[0]! + 12, before[1]! + 11]);
    expect(proxy.bytesLost).toBe(0);
  });

  it('passes a value that is bigger than every buffer', async () => {
    const size = 8 * 1024 * 1024;
    await redis('SETRANGE', 'big', String(size - 1), 'x');
    line.write('GET big');
    await eventually(() => line.received.length === size + `$${size}\r\n\r\n`.length);
  });

  it('delays requests and replies by at least the latency, and keeps their order', async () => {
    await proxy.set('latency', { ms: 40, jitter: 10 });
    const began = performance.now();
    for (let index = 0; index < 20; index++) line.write(`ECHO ${index % 10}`);
    await eventually(() => line.received.length === 20 * '$1\r\n0\r\n'.length, { interval: 2 });
    expect(performance.now() - began).toBeGreaterThanOrEqual(59);
    expect(line.received.match(/\d\r\n(?!\d)/g)?.join('')).toBe(
      [...Array(20).keys()].map((n) => `${n % 10}\r\n`).join(''),
    );
  });

  it('hands on a few bytes at a time', async () => {
    await proxy.set('drip', { bytes: 2, ms: 2 });
    line.write('ECHO hello');
    await eventually(() => line.received.length > 0 && line.received.length < 11, { interval: 1 });
    await eventually(() => line.received === '$5\r\nhello\r\n');
  });

  it('refuses: existing connections are cut, new ones are not accepted, and afterwards the port is the same', async () => {
    const { port } = proxy;
    await proxy.set('refuse');
    await eventually(() => line.closed === 'reset');
    await expect(Line.open(port)).rejects.toThrow(/ECONNREFUSED/);
    await proxy.set('pass');
    line = await Line.open(port);
    line.write('PING');
    await eventually(() => line.received === '+PONG\r\n');
  });

  it('swallows nothing in a black hole: what was sent meanwhile arrives when it ends', async () => {
    await proxy.set('blackhole');
    line.write('SET key value');
    const late = await Line.open(proxy.port);
    late.write('PING');
    const other = await startProxy(own.nodes[0]!);
    const probe = await Line.open(other.port);
    probe.write('GET key');
    await eventually(() => probe.received === '$-1\r\n');
    expect([line.received, late.received]).toEqual(['', '']);
    await proxy.set('pass');
    await eventually(() => line.received === '+OK\r\n' && late.received === '+PONG\r\n');
    late.close();
    probe.close();
    await other.close();
  });

  it('loses requests: not applied, no answer, and the damaged connection is cut when the fault ends', async () => {
    await proxy.set('dropUp');
    line.write('SET key value');
    await eventually(() => proxy.bytesLost === 'SET key value\r\n'.length);
    await proxy.set('pass');
    await eventually(() => line.closed === 'reset');
    expect(await redis('EXISTS', 'key')).toBe(0);
    expect(line.received).toBe('');
  });

  it('loses replies: applied, no answer, and the damaged connection is cut when the fault ends', async () => {
    await proxy.set('dropDown');
    line.write('INCR key');
    await eventually(async () => (await redis('GET', 'key')) === '1');
    await eventually(() => proxy.bytesLost > 0);
    expect(line.closed).toBeUndefined();
    await proxy.set('pass');
    await eventually(() => line.closed === 'reset');
    expect(line.received).toBe('');
  });

  it('loses both ways, and closes nothing until the fault ends', async () => {
    await proxy.set('drop');
    line.write('INCR key');
    const late = await Line.open(proxy.port);
    late.write('PING');
    await eventually(() => proxy.bytesLost === 'INCR key\r\nPING\r\n'.length);
    expect([line.closed, late.closed]).toEqual([undefined, undefined]);
    await proxy.set('pass');
    await eventually(() => line.closed === 'reset' && late.closed === 'reset');
    expect([await redis('EXISTS', 'key'), line.received, late.received]).toEqual([0, '', '']);
  });

  it('cuts the connection at the first lost reply when told so', async () => {
    await proxy.set('dropDown', { cut: true });
    line.write('INCR key');
    await eventually(() => line.closed === 'reset');
    expect(await redis('GET', 'key')).toBe('1');
    expect(line.received).toBe('');
  });

  it('resets existing and new connections until the mode changes', async () => {
    await proxy.set('reset');
    await eventually(() => line.closed === 'reset');
    // The reset may be there before the client knows that it was connected.
    const next = await Line.open(proxy.port).catch((error: NodeJS.ErrnoException) => error.code);
    if (next instanceof Line) await eventually(() => next.closed === 'reset');
    else expect(next).toBe('ECONNRESET');
    await proxy.set('pass');
    line = await Line.open(proxy.port);
    line.write('PING');
    await eventually(() => line.received === '+PONG\r\n');
  });

  it('leaves a half-open connection: silent for ever, the server sees it close, new ones work', async () => {
    const clients = async (): Promise<number> =>
      String(await redis('CLIENT', 'LIST'))
        .trim()
        .split('\n').length;
    const before = await clients();
    await proxy.set('halfOpen');
    await eventually(async () => (await clients()) === before - 1);
    line.write('SET key value');
    const next = await Line.open(proxy.port);
    next.write('PING');
    await eventually(() => next.received === '+PONG\r\n');
    await proxy.set('pass');
    await eventually(() => proxy.bytesLost === 'SET key value\r\n'.length);
    expect([line.received, line.closed]).toEqual(['', undefined]);
    expect(await redis('EXISTS', 'key')).toBe(0);
    next.close();
  });

  it('hands on the orderly end of a connection', async () => {
    line.write('QUIT');
    await eventually(() => line.closed === 'end' && line.received === '+OK\r\n');
    line.close();
    await eventually(() => proxy.connections === 0);
  });
});

describeOn('cluster', 'proxies in front of all nodes', (topology) => {
  it('are used by a client that is given the natMap', async () => {
    const fleet = await startProxies(topology.nodes);
    const [first] = fleet.proxies;
    const client = new Cluster([{ host: first!.host, port: first!.port }], { natMap: fleet.natMap, lazyConnect: true });
    client.on('error', () => {});
    try {
      await client.connect();
      for (const tag of ['a', 'b', 'c', 'd', 'e', 'f']) {
        await client.set(`${topology.namespace}:{${tag}}`, tag, 'PX', 60_000);
      }
      const masterPorts = topology.admin.masters().map((master) => Number(master.options.port));
      const usedPorts = fleet.proxies.filter((proxy) => proxy.bytesUp > 0).map((proxy) => proxy.upstream.port);
      expect(usedPorts).toEqual(expect.arrayContaining(masterPorts));
    } finally {
      client.disconnect();
      await fleet.close();
    }
  });
});
