import { z } from 'zod';
import { parseOptions, type Duration } from '../../core/index.js';
import { lockUsingSchema } from '../lock.options.js';

/** Options of a campaign. */
export interface CampaignOptions {
  /**
   * How long a leader that is not heard of stays leader, 100 ms to 24 d. Default: `lock.lease`. A new one is elected after
   * that at the latest when it was killed, and at once when it resigned or was shut down.
   */
  lease?: Duration;
}

const schema = z.strictObject({ lease: lockUsingSchema.shape.lease });

/**
 * @returns the lease, milliseconds
 * @throws InvalidOptionsError
 */
export function parseCampaign(raw: CampaignOptions, fallback: number): number {
  return parseOptions(schema, raw, 'LeaderElectionService.campaign()').lease ?? fallback;
}
