// Four ways to tell everybody: each publishes and hears in one process, on sockets of its own, and counts what it heard.
import 'reflect-metadata';
import { Controller, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { PubSubService } from 'nestjs-redis-patterns';
import { openApplication, openRaw, peer } from '../context.mjs';

/**
 * @typedef {object} Broadcaster
 * @property {string} name
 * @property {string} listener part of the `CLIENT LIST` line of the socket that listens
 * @property {(n: number) => Promise<unknown>} publish
 * @property {() => number} gaps how many gaps it was told
 * @property {() => Promise<unknown>} close
 */

/** @param {string} url @param {object} payload @param {(name: string, n: number) => void} heard @returns {Promise<Broadcaster[]>} */
export async function openBroadcasters(url, payload, heard) {
  const opened = [
    await raw(url, payload, heard),
    await ours('ours', url, payload, heard, {}),
    await ours('ours reliable', url, payload, heard, { channels: { bench: { delivery: 'reliable' } } }),
    await transport(url, payload, heard),
  ];
  return opened.filter((each) => each !== undefined);
}

async function raw(url, payload, heard) {
  const [publisher, subscriber] = [openRaw(url), openRaw(url, { connectionName: 'raw-listener' })];
  // Without a listener ioredis prints every lost connection.
  subscriber.on('error', () => {});
  subscriber.on('message', (_channel, text) => heard('raw', JSON.parse(text).n));
  await subscriber.subscribe('raw:bench');
  return {
    name: 'raw',
    listener: 'name=raw-listener ',
    publish: (n) => publisher.publish('raw:bench', JSON.stringify({ n, ...payload })),
    gaps: () => 0,
    close: async () => [publisher, subscriber].forEach((client) => client.disconnect()),
  };
}

async function ours(name, url, payload, heard, pubsub) {
  const namespace = name.replace(' ', '-');
  const app = await openApplication(url, { namespace, pubsub }, ['error']);
  const service = app.get(PubSubService);
  let gaps = 0;
  await service.subscribe('bench', ({ n }) => heard(name, n), { onGap: () => gaps++ });
  return {
    name,
    listener: `name=${namespace}:default:subscriber:`,
    publish: (n) => service.publish('bench', { n, ...payload }),
    gaps: () => gaps,
    close: () => app.close(),
  };
}

/** The Redis transport of @nestjs/microservices: a server with one event handler, and a client that emits. */
async function transport(url, payload, heard) {
  const modules = await peer('@nestjs/microservices');
  if (!modules) return undefined;
  const [{ ClientProxyFactory, EventPattern, Transport }] = modules;
  const { hostname: host, port } = new URL(url);
  const options = {
    transport: Transport.REDIS,
    options: { host, port: Number(port || 6379), retryAttempts: 100, retryDelay: 50 },
  };
  class Listener {
    handle({ n }) {
      heard('nest transport', n);
    }
  }
  Controller()(Listener);
  EventPattern('bench')(Listener.prototype, 'handle', Object.getOwnPropertyDescriptor(Listener.prototype, 'handle'));
  class Root {}
  Module({ controllers: [Listener] })(Root);
  const server = await NestFactory.createMicroservice(Root, { ...options, logger: false });
  await server.listen();
  const client = ClientProxyFactory.create(options);
  await client.connect();
  return {
    name: 'nest transport',
    listener: ' sub=1 ',
    publish: (n) =>
      new Promise((resolve, reject) =>
        client.emit('bench', { n, ...payload }).subscribe({ complete: resolve, error: reject }),
      ),
    gaps: () => 0,
    close: async () => {
      client.close();
      await server.close();
    },
  };
}
