import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { ExternalContextCreator, ModulesContainer } from '@nestjs/core';
import { HandlerFactory } from '../../nest/handlers/handler-factory.js';
import { findHandlerHosts, type HandlerHost } from '../../nest/handlers/handler-hosts.js';
import { runAfter, runBefore } from '../../nest/handlers/lifecycle-hooks.js';
import type { StreamConsumerOptions } from '../consumer.options.js';
import { StreamRuntime, type StreamConsumption } from '../stream-runtime.service.js';
import { consumersOf } from './stream-consumer.decorator.js';

/**
 * Finds the methods with `@StreamConsumer`, registers them, and ties the readers to the lives of their hosts.
 *
 * Nest runs the hooks of a global module first at start and last at shutdown: too early to start, as other modules have
 * not booted, and too late to drain, as their databases are closed. So the hosts themselves get hooks: a reader starts
 * after the last of its hosts has booted, and the first host that is destroyed drains them all.
 */
@Injectable()
export class StreamExplorer implements OnModuleInit {
  readonly #handlers: HandlerFactory;
  /** Private to the language: whoever prints this object would else print the whole application. */
  readonly #modules: ModulesContainer;

  constructor(
    @Inject(ModulesContainer) modules: ModulesContainer,
    @Inject(ExternalContextCreator) contexts: ExternalContextCreator,
    @Inject(StreamRuntime) private readonly runtime: StreamRuntime,
  ) {
    this.#modules = modules;
    this.#handlers = new HandlerFactory(contexts, 'stream');
  }

  /** @throws InvalidOptionsError naming `Class.method`, or `pool.maxBlocking` where there are more readers than sockets */
  onModuleInit(): void {
    // A test may have put anything in its place; then nothing is consumed.
    if (!(this.runtime instanceof StreamRuntime)) return;
    const registered = findHandlerHosts(this.#modules, consumersOf).map((host) => ({
      host,
      readers: this.#register(host),
    }));
    this.runtime.check();
    const hostsLeft = new Map<string, number>();
    for (const { readers } of registered) {
      for (const id of readers.keys()) hostsLeft.set(id, (hostsLeft.get(id) ?? 0) + 1);
    }
    for (const { host, readers } of registered) this.#followLife(host, readers, hostsLeft);
  }

  /** @returns the readers that serve the host */
  #register(host: HandlerHost<StreamConsumerOptions>): Map<string, StreamConsumption> {
    const readers = new Map<string, StreamConsumption>();
    for (const { name, marks } of host.methods) {
      const handler = this.#handlers.create(host, name);
      for (const options of marks) {
        const consumption = this.runtime.consume(options, handler, `${host.className}.${name}`);
        readers.set(JSON.stringify([consumption.stream, consumption.group]), consumption);
      }
    }
    return readers;
  }

  #followLife(
    host: HandlerHost<StreamConsumerOptions>,
    readers: Map<string, StreamConsumption>,
    hostsLeft: Map<string, number>,
  ): void {
    const objects = [host.instance, host.module.instance as object];
    runBefore(objects, 'onModuleDestroy', () => this.runtime.drain());
    if (!this.runtime.startsByItself) return;
    runAfter(objects, 'onApplicationBootstrap', () => {
      for (const [id, reader] of readers) {
        const left = hostsLeft.get(id)! - 1;
        hostsLeft.set(id, left);
        if (left === 0) reader.start();
      }
    });
  }
}
