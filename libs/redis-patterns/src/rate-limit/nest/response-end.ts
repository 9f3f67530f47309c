import type { ExecutionContext } from '@nestjs/common';

/** What Node's responses of HTTP/1 and HTTP/2 have in common. */
interface RawResponse {
  readonly statusCode: number;
  readonly destroyed?: boolean;
  readonly writableFinished?: boolean;
  readonly socket?: object | null;
  once(event: 'finish' | 'close', listener: () => void): unknown;
}

interface RawRequest {
  readonly socket?: { readonly destroyed?: boolean };
}

/** How often to look whether the client is still there, milliseconds. */
const LOOK = 1000;

/**
 * Calls `end` once, when the response of a request is over: with its status when it has been sent, with `undefined` when the
 * client has left before.
 */
export function onResponseEnd(context: ExecutionContext, end: (status: number | undefined) => void): void {
  const http = context.switchToHttp();
  const response = rawOf(http.getResponse<RawResponse & { raw?: RawResponse }>());
  const { socket } = rawOf(http.getRequest<RawRequest & { raw?: RawRequest }>());
  let timer: NodeJS.Timeout | undefined;
  let over = false;
  const settle = (status: number | undefined): void => {
    if (over) return;
    over = true;
    clearInterval(timer);
    end(status);
  };
  if (response.writableFinished === true) return settle(response.statusCode);
  if (response.destroyed === true || socket?.destroyed === true) return settle(undefined);
  response.once('finish', () => settle(response.statusCode));
  response.once('close', () => settle(undefined));
  // A pipelined response has no socket until its turn comes, and is not told when that will never be.
  if (response.socket !== null) return;
  timer = setInterval(() => {
    if (socket?.destroyed === true) settle(undefined);
  }, LOOK);
  timer.unref();
}

function rawOf<T extends object>(given: T & { raw?: T }): T {
  return given.raw ?? given;
}
