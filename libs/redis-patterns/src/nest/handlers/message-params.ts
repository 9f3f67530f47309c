import 'reflect-metadata';
import type { PipeTransform, Type } from '@nestjs/common';

/**
 * Metadata key of parameters throughout Nest (routes, RPC and WebSocket handlers): its scanner finds the classes of pipes
 * under it, and `createParamDecorator` writes there too. Part of every compiled application, hence stable.
 */
export const MESSAGE_PARAMS = '__routeArguments__';

/** Numbers that Nest passes back; 3 is what pipes know as `'body'`, so that a ValidationPipe checks it. */
const BODY = 3;
const CONTEXT = 6;
const HEADER = 100;

type Pipe = PipeTransform | Type<PipeTransform>;

/**
 * The payload of the message, or a property of it, after the pipes.
 *
 * @example
 * ```ts
 * bill(@MessageBody() order: Order, @MessageBody('id', ParseUUIDPipe) id: string)
 * ```
 */
export function MessageBody(...propertyOrPipes: [property: string, ...pipes: Pipe[]] | Pipe[]): ParameterDecorator {
  const [first, ...rest] = propertyOrPipes;
  return typeof first === 'string'
    ? parameter(BODY, first, rest as Pipe[])
    : parameter(BODY, undefined, propertyOrPipes as Pipe[]);
}

/** What goes with the message: the `StreamContext` or the `PubSubContext`. */
export function MessageContext(): ParameterDecorator {
  return parameter(CONTEXT, undefined, []);
}

/**
 * One header of the message, `undefined` where the producer sent none of that name.
 *
 * @example
 * ```ts
 * bill(@MessageBody() order: Order, @MessageHeader('tenant') tenant: string | undefined)
 * ```
 */
export function MessageHeader(name: string, ...pipes: Pipe[]): ParameterDecorator {
  return parameter(HEADER, name, pipes);
}

/** Gives each parameter what it asked for, out of `(body, context)`. */
export const messageParamsFactory = {
  exchangeKeyForValue(type: number, data: unknown, args: unknown[]): unknown {
    const [body, context] = args as [unknown, { readonly headers?: Readonly<Record<string, string>> }];
    if (type === CONTEXT) return context;
    if (type === HEADER) return context.headers?.[data as string];
    return data === undefined ? body : (body as Record<string, unknown> | null | undefined)?.[data as string];
  },
};

function parameter(type: number, data: string | undefined, pipes: Pipe[]): ParameterDecorator {
  return (target, key, index) => {
    if (key === undefined) throw new TypeError('A message parameter belongs to a method, not to a constructor');
    const host = target.constructor;
    // What base classes said must not be written into.
    const known = (Reflect.getMetadata(MESSAGE_PARAMS, host, key) ?? {}) as object;
    Reflect.defineMetadata(MESSAGE_PARAMS, { ...known, [`${type}:${index}`]: { index, data, pipes } }, host, key);
  };
}
