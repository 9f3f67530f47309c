import type { Redis } from 'ioredis';

/** What a server says about itself; a part that it does not show is `undefined`. */
export interface ServerInfo {
  readonly version: string | undefined;
  readonly mode: string | undefined;
  readonly role: string | undefined;
  readonly maxmemory: number | undefined;
  readonly maxmemoryPolicy: string | undefined;
  /** Changes with each start of the server; equal for two connections to the same one. */
  readonly runId: string | undefined;
}

/** Reads INFO; everything is `undefined` where the user may not, or the server does not answer. */
export async function readServerInfo(client: Redis): Promise<ServerInfo> {
  const text = await client.info().catch(() => '');
  const field = (name: string): string | undefined => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(text)?.[1];
  const maxmemory = field('maxmemory');
  return {
    version: field('valkey_version') ?? field('redis_version'),
    mode: field('redis_mode') ?? field('server_mode'),
    role: field('role'),
    maxmemory: maxmemory === undefined ? undefined : Number(maxmemory),
    maxmemoryPolicy: field('maxmemory_policy'),
    runId: field('run_id'),
  };
}
