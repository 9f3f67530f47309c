import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { MetadataScanner, ModulesContainer } from '@nestjs/core';
import { InvalidOptionsError } from '../../core/errors.js';
import { isRequestHandler, requestKind } from '../../nest/method-decorator/index.js';
import { RateLimitService } from '../rate-limit.service.js';
import { planHandler } from './handler-plan.js';
import { skipsOf, usesOf } from './limit-use.js';

type Class = abstract new (...args: never[]) => object;
type Methods = Record<string, () => unknown>;

/** Checks, when the application starts, what `@RateLimit` and `@SkipRateLimit` say on classes and handlers. */
@Injectable()
export class RateLimitExplorer implements OnModuleInit {
  /** Private to the language: whoever prints this object would else print the whole application. */
  readonly #modules: ModulesContainer;

  constructor(
    @Inject(ModulesContainer) modules: ModulesContainer,
    @Inject(RateLimitService) private readonly service: RateLimitService,
  ) {
    this.#modules = modules;
  }

  /** @throws InvalidOptionsError naming the class or method */
  onModuleInit(): void {
    // A test may have put anything in its place.
    if (!(this.service instanceof RateLimitService)) return;
    const classes = [...this.#classes()];
    for (const each of classes) this.#planClass(each);
    // Names that only decorators define are known by now.
    for (const each of classes) this.#checkSkips(each);
    this.#warnOfMessages(classes);
  }

  #classes(): Set<Class> {
    const found = new Set<Class>();
    for (const module of this.#modules.values()) {
      for (const wrapper of [...module.controllers.values(), ...module.providers.values()]) {
        const { metatype, inject } = wrapper;
        const isStatic = !wrapper.isTransient && wrapper.isDependencyTreeStatic();
        if (!inject && typeof metatype === 'function') {
          if (metatype.prototype) found.add(metatype as unknown as Class);
        } else if (isStatic) {
          const made = markedClassOf(wrapper.instance);
          if (made !== undefined) found.add(made);
        }
      }
    }
    return found;
  }

  #planClass(owner: Class): void {
    const handlers = methodsOf(owner).filter(({ handlesRequests }) => handlesRequests);
    if (handlers.length === 0 && usesOf(owner).length > 0) {
      const message =
        'the class handles no requests, so that nothing would be limited; decorate its methods, each with a `by`';
      throw new InvalidOptionsError(`${owner.name} with @RateLimit`, [{ path: '', message }]);
    }
    for (const { method } of handlers) planHandler(this.service, owner, method);
  }

  /** Nobody should believe that what cannot be counted is limited. */
  #warnOfMessages(classes: readonly Class[]): void {
    const uncounted = this.service.options.global.filter(
      (name) => typeof this.service.policies.find(name, 'rateLimit.global').by !== 'function',
    );
    const isUncounted = (owner: Class, method: () => unknown): boolean => {
      const skips = [skipsOf(owner), skipsOf(method)];
      const limited = usesOf(owner).length > 0 || usesOf(method).length > 0;
      const left = uncounted.filter((name) => !skips.some((names) => names === 'all' || names?.includes(name)));
      return requestKind(method) === 'message' && !limited && left.length > 0;
    };
    const handlers = classes.flatMap((owner) =>
      methodsOf(owner)
        .filter(({ method }) => isUncounted(owner, method))
        .map(({ name }) => `${owner.name}.${name}`),
    );
    if (handlers.length === 0) return;
    this.service.warnOnce(
      'global',
      `rateLimit.global does not limit the messages of ${handlers.join(', ')}: they have no address and no user. Give the ` +
        `policies 'by' as a function, limit the handlers with @RateLimit, or say that it is meant with @SkipRateLimit().`,
    );
  }

  #checkSkips(owner: Class): void {
    this.#checkNames(skipsOf(owner), owner.name);
    const methods = methodsOf(owner);
    if (skipsOf(owner) !== undefined && !methods.some(({ handlesRequests }) => handlesRequests)) {
      const message = 'has no effect: the class handles no requests; use `skipIf` of the @RateLimit of its methods';
      throw new InvalidOptionsError(`${owner.name} with @SkipRateLimit`, [{ path: '', message }]);
    }
    for (const { name, method, handlesRequests } of methods) {
      const skips = skipsOf(method);
      if (skips === undefined) continue;
      const where = `${owner.name}.${name}`;
      this.#checkNames(skips, where);
      if (handlesRequests) continue;
      const message = 'has no effect: the method handles no requests; use `skipIf` of its @RateLimit';
      throw new InvalidOptionsError(`${where} with @SkipRateLimit`, [{ path: '', message }]);
    }
  }

  #checkNames(names: 'all' | readonly string[] | undefined, where: string): void {
    if (names === undefined || names === 'all') return;
    for (const name of names) this.service.policies.checkName(name, `${where} with @SkipRateLimit`);
  }
}

/** The class of what a factory has made, or of a value, if that says something of limits. */
function markedClassOf(instance: unknown): Class | undefined {
  if (typeof instance !== 'object' || instance === null) return undefined;
  const made: unknown = Object.getPrototypeOf(instance)?.constructor;
  const isMarked = typeof made === 'function' && (usesOf(made).length > 0 || skipsOf(made) !== undefined);
  return isMarked ? (made as Class) : undefined;
}

function methodsOf(owner: Class): { name: string; method: () => unknown; handlesRequests: boolean }[] {
  const prototype = owner.prototype as Methods;
  return new MetadataScanner().getAllMethodNames(prototype).map((name) => ({
    name,
    method: prototype[name]!,
    handlesRequests: isRequestHandler(prototype, name),
  }));
}
