import type { PatternPart } from '../../nest/pattern-part.js';
import { StreamAdmin } from '../stream-admin.service.js';
import { resolveStreamOptions, type ResolvedStreamOptions } from '../stream.options.js';
import { StreamProducer } from '../stream-producer.service.js';
import { StreamRuntime } from '../stream-runtime.service.js';
import { StreamExplorer } from './stream-explorer.js';

/** What streams add to the module. */
export const streamPart: PatternPart<ResolvedStreamOptions> = {
  option: 'stream',
  keeps: 'durable',
  resolve: resolveStreamOptions,
  services: [
    { token: StreamProducer, create: (context, options) => new StreamProducer(context, options) },
    { token: StreamAdmin, create: (context) => new StreamAdmin(context) },
    { token: StreamRuntime, create: (context, options) => new StreamRuntime(context, options) },
  ],
  decorators: ['@StreamConsumer'],
  providers: [StreamExplorer],
};
