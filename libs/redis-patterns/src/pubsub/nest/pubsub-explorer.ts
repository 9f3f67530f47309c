import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { ExternalContextCreator, ModulesContainer } from '@nestjs/core';
import { HandlerFactory } from '../../nest/handlers/handler-factory.js';
import { findHandlerHosts, type HandlerHost } from '../../nest/handlers/handler-hosts.js';
import { runAfter, runBefore } from '../../nest/handlers/lifecycle-hooks.js';
import { checkChannel } from '../pubsub.engine.js';
import type { PubSubHandler } from '../pubsub-context.js';
import { PubSubService } from './pubsub.service.js';
import { gapMark, subscribeMark, type SubscribeMark } from './subscribe.decorator.js';

/** Longest time for which the start of the application waits for all confirmations together, milliseconds. */
const CONFIRMATION = 2000;

/**
 * Finds the methods with `@Subscribe` and `@OnSubscriptionGap`, and ties them to the lives of their hosts: a host hears nothing
 * before it has booted, and what has come is handled before the first of them is destroyed.
 */
@Injectable()
export class PubSubExplorer implements OnModuleInit {
  readonly #handlers: HandlerFactory;
  /** Private to the language: whoever prints this object would else print the whole application. */
  readonly #modules: ModulesContainer;
  #patience: AbortSignal | undefined;

  constructor(
    @Inject(ModulesContainer) modules: ModulesContainer,
    @Inject(ExternalContextCreator) contexts: ExternalContextCreator,
    @Inject(PubSubService) private readonly service: PubSubService,
  ) {
    this.#modules = modules;
    this.#handlers = new HandlerFactory(contexts, 'pubsub');
  }

  /** @throws InvalidOptionsError naming `Class.method` */
  onModuleInit(): void {
    // A test may have put anything in its place; then nothing is heard.
    if (!(this.service instanceof PubSubService)) return;
    for (const host of findHandlerHosts(this.#modules, gapMark.of)) {
      for (const { name, marks } of host.methods) {
        const handler = this.#handlers.create(host, name);
        const where = `${host.className}.${name}`;
        for (const channel of marks) {
          checkChannel(channel, `@OnSubscriptionGap of ${where}`);
          this.service.watchGaps(channel, (gap) => handler(gap, gap), where);
        }
      }
    }
    for (const host of findHandlerHosts(this.#modules, subscribeMark.of)) this.#follow(host);
  }

  #follow(host: HandlerHost<SubscribeMark>): void {
    const subscriptions = host.methods.flatMap(({ name, marks }) => {
      const handler = this.#handlers.create(host, name) as PubSubHandler;
      const where = `${host.className}.${name}`;
      return marks.map(({ channel, options }) => {
        checkChannel(channel, `@Subscribe of ${where}`);
        this.service.check(channel, options, where);
        return () => this.service.listen(channel, handler, options, where);
      });
    });
    const objects = [host.instance, host.module.instance as object];
    runBefore(objects, 'onModuleDestroy', () => this.service.drain());
    runAfter(objects, 'onApplicationBootstrap', async () => {
      this.#patience ??= AbortSignal.timeout(CONFIRMATION);
      const patience = this.#patience;
      // Whoever publishes when the application has started is heard. Without Redis the start does not wait for long: the
      // subscriptions begin by themselves when it is there.
      await Promise.allSettled(subscriptions.map((begin) => begin().confirmed(patience)));
    });
  }
}
