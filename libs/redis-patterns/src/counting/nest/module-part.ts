import type { PatternPart } from '../../nest/pattern-part.js';
import { BloomFilterService } from '../bloom-filter.service.js';
import { CounterService } from '../counter.service.js';
import { resolveCountingOptions, type ResolvedCountingOptions } from '../counting.options.js';
import { UniqueCounterService } from '../unique-counter.service.js';

/** What counting adds to the module. */
export const countingPart: PatternPart<ResolvedCountingOptions> = {
  option: 'counting',
  keeps: 'durable',
  resolve: resolveCountingOptions,
  services: [
    { token: UniqueCounterService, create: (context) => new UniqueCounterService(context) },
    { token: CounterService, create: (context) => new CounterService(context) },
    { token: BloomFilterService, create: (context) => new BloomFilterService(context) },
  ],
  decorators: [],
};
