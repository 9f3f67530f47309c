import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';

export interface Answer<Body> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Body;
}

/** This shop as its customers see it: real requests, through its guards and interceptors. */
@Injectable()
export class OwnShop {
  constructor(private readonly host: HttpAdapterHost) {}

  /** @param client stands for a login, as the limit of orders counts it */
  async send<Body>(method: string, path: string, body?: object, client = 'dashboard'): Promise<Answer<Body>> {
    const { port } = (this.host.httpAdapter.getHttpServer() as Server).address() as AddressInfo;
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers: { 'content-type': 'application/json', 'x-client': client },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, headers: response.headers, body: (await response.json()) as Body };
  }
}
