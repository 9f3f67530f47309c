import { ManagedConnection, type ApplicationConnection, type ResolvedConnectionOptions } from '../connection/index.js';
import type { Telemetry } from '../telemetry/index.js';

/** Makes the connections of an application: a seam for tests, which put a Redis in memory in its place. */
export class ConnectionSource {
  connect(
    name: string,
    namespace: string,
    options: ResolvedConnectionOptions,
    telemetry: Telemetry,
  ): ApplicationConnection {
    return new ManagedConnection(name, namespace, options, telemetry);
  }
}
