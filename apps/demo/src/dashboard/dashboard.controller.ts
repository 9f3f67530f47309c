import { readFile } from 'node:fs/promises';
import { Controller, Get, Header, Req, Sse, type MessageEvent, type OnModuleDestroy } from '@nestjs/common';
import { ApiExcludeEndpoint } from '@nestjs/swagger';
import type { Request } from 'express';
import { exhaustMap, map, Observable, ReplaySubject, shareReplay, takeUntil, timer } from 'rxjs';
import { SnapshotService } from './snapshot.js';

/** Milliseconds between two looks. */
const EVERY = 1000;
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** The page at `/`: three files as they are, and what happens in the shop, once a second. */
@Controller()
export class DashboardController implements OnModuleDestroy {
  readonly #closing = new ReplaySubject<void>(1);
  /** One look for all who watch; a slow one delays the next, and nobody looks when nobody watches. */
  readonly #events: Observable<MessageEvent>;

  constructor(snapshots: SnapshotService) {
    this.#events = timer(0, EVERY).pipe(
      exhaustMap(() => snapshots.take()),
      map((data): MessageEvent => ({ data })),
      takeUntil(this.#closing),
      shareReplay({ bufferSize: 1, refCount: true }),
    );
  }

  @Get()
  @ApiExcludeEndpoint()
  @Header('content-type', 'text/html; charset=utf-8')
  @Header('content-security-policy', POLICY)
  @Header('x-content-type-options', 'nosniff')
  @Header('cache-control', 'no-cache')
  page(): Promise<string> {
    return file('index.html');
  }

  @Get('dashboard/dashboard.css')
  @ApiExcludeEndpoint()
  @Header('content-type', 'text/css; charset=utf-8')
  @Header('cache-control', 'no-cache')
  style(): Promise<string> {
    return file('dashboard.css');
  }

  @Get('dashboard/dashboard.js')
  @ApiExcludeEndpoint()
  @Header('content-type', 'text/javascript; charset=utf-8')
  @Header('cache-control', 'no-cache')
  script(): Promise<string> {
    return file('dashboard.js');
  }

  /** The {@link Snapshot}s, as server-sent events. */
  @Sse('dashboard/events')
  events(@Req() { res, socket }: Request): Observable<MessageEvent> {
    // Its connection ends with it: kept alive, it would keep a server that ends for some seconds.
    res?.once('finish', () => socket.end());
    return this.#events;
  }

  /** A server waits for its open answers before it ends: these would go on for ever. */
  onModuleDestroy(): void {
    this.#closing.next();
  }
}

function file(name: string): Promise<string> {
  return readFile(new URL(`page/${name}`, import.meta.url), 'utf8');
}
