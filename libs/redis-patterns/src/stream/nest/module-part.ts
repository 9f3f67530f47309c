import { hasMarks } from '../../nest/handlers/handler-mark.js';
import type { PatternPart } from '../../nest/pattern-part.js';
import { StreamAdmin } from '../stream-admin.service.js';
import { resolveStreamOptions, type ResolvedStreamOptions } from '../stream.options.js';
import { StreamProducer } from '../stream-producer.service.js';
import { StreamRuntime } from '../stream-runtime.service.js';
import { validateByClass } from './class-validation.js';
import { consumerMark } from './stream-consumer.decorator.js';
import { StreamExplorer } from './stream-explorer.js';

/** What streams add to the module. */
export const streamPart: PatternPart<ResolvedStreamOptions> = {
  option: 'stream',
  keeps: 'durable',
  resolve: resolveStreamOptions,
  nodesOf: ({ streams }) => Object.values(streams).flatMap(({ connection }) => connection ?? []),
  services: [
    {
      token: StreamProducer,
      create: (context, options, connectionOf) => new StreamProducer(context, options, connectionOf, validateByClass),
    },
    {
      token: StreamAdmin,
      create: (context, options, connectionOf) => new StreamAdmin(context, options, connectionOf),
    },
    {
      token: StreamRuntime,
      create: (context, options, connectionOf) => new StreamRuntime(context, options, connectionOf, validateByClass),
    },
  ],
  decorators: ['@StreamConsumer'],
  marks: (owner) => hasMarks(owner, [consumerMark]),
  providers: [StreamExplorer],
};
