import type { ResolvedHandlerOptions } from '../consumer.options.js';
import type { Validator } from '../message-schema.js';
import type { StreamContext } from '../stream-context.js';

/** What a handler is called with, and what it may answer: settled when it has returned. */
export type MessageHandler<Body = unknown> = (body: Body, context: StreamContext) => unknown;

/** A handler as a reader knows it. */
export interface Route {
  /** `Class.method`, for messages. */
  readonly name: string;
  readonly handler: MessageHandler;
  readonly options: ResolvedHandlerOptions;
  /** Checks payloads of every type. */
  readonly validator: Validator | undefined;
  /** Check payloads by type; where there is no other. */
  readonly validators: ReadonlyMap<string, Validator>;
}

/** Finds the handler of a type. */
export class Routes {
  readonly #byType = new Map<string, Route>();
  #others: Route | undefined;
  #largestBatch = 1;
  #batched: Route | undefined;

  /** Messages that one run may take. */
  get largestBatch(): number {
    return this.#largestBatch;
  }

  /** One that takes batches, if there is any. */
  get batched(): Route | undefined {
    return this.#batched;
  }

  /** @returns the route that has one of these types already, unless there is none */
  conflict(types: readonly string[] | undefined): Route | undefined {
    if (types === undefined) return this.#others;
    return types.map((type) => this.#byType.get(type)).find((route) => route !== undefined);
  }

  add(types: readonly string[] | undefined, route: Route): void {
    this.#largestBatch = Math.max(this.#largestBatch, route.options.batch?.size ?? 1);
    if (route.options.batch !== undefined) this.#batched ??= route;
    if (types === undefined) this.#others = route;
    else for (const type of types) this.#byType.set(type, route);
  }

  find(type: string | undefined): Route | undefined {
    return (type === undefined ? undefined : this.#byType.get(type)) ?? this.#others;
  }
}

export function validatorFor(route: Route, type: string | undefined): Validator | undefined {
  return route.validator ?? (type === undefined ? undefined : route.validators.get(type));
}
