// Two transports behind the same application: the one that comes with @nestjs/microservices, and ours. Only the options differ.
import 'reflect-metadata';
import { Controller, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ClientProxyFactory, EventPattern, MessagePattern, Payload, Transport } from '@nestjs/microservices';
import { RedisStreamsClient, RedisStreamsServer } from 'nestjs-redis-patterns/microservices';
import { lastValueFrom } from 'rxjs';

const shared = (url) => ({ namespace: 'bench', connection: url });

/** @type {Record<string, { server: (url: string) => object, client: (url: string) => object }>} */
const KINDS = {
  'nest transport': { server: redisTransport, client: redisTransport },
  'ours transport': {
    // What a killed process has left is run again after a lease and a half: not as soon as in the time of a benchmark by default.
    server: (url) => ({
      strategy: new RedisStreamsServer({ ...shared(url), group: 'bench', consumer: { concurrency: 64, lease: '2s' } }),
    }),
    client: (url) => ({ customClass: RedisStreamsClient, options: shared(url) }),
  },
};

function redisTransport(url) {
  const { hostname: host, port } = new URL(url);
  const options = { host, port: Number(port || 6379), retryAttempts: 100, retryDelay: 50 };
  return { transport: Transport.REDIS, options };
}

/**
 * Starts a service that answers requests by what they carry; gives what ends it.
 *
 * @param {string} kind
 * @param {string} url
 * @param {(message: any) => unknown} handle for events
 */
export async function serve(kind, url, handle) {
  class Service {
    onEvent(message) {
      return handle(message);
    }
    onRequest(message) {
      return message;
    }
  }
  Controller()(Service);
  handles(Service, 'onEvent', EventPattern('event'));
  handles(Service, 'onRequest', MessagePattern('request'));
  class Root {}
  Module({ controllers: [Service] })(Root);
  const app = await NestFactory.createMicroservice(Root, { ...KINDS[kind].server(url), logger: false });
  await app.listen();
  return () => app.close();
}

function handles(Service, method, decorate) {
  Payload()(Service.prototype, method, 0);
  decorate(Service.prototype, method, Object.getOwnPropertyDescriptor(Service.prototype, method));
}

/** @param {string} kind @param {string} url */
export async function connect(kind, url) {
  const client = ClientProxyFactory.create(KINDS[kind].client(url));
  await client.connect();
  return {
    emit: (message) => lastValueFrom(client.emit('event', message), { defaultValue: undefined }),
    send: (message) => lastValueFrom(client.send('request', message)),
    close: async () => client.close(),
  };
}
