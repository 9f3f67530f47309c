import { z } from 'zod';

const RULE = 'must name somebody: a text that is not empty, a whole number or a bigint';

/** Schema of an option `principal`, who something belongs to; the parsed value is text, so that `7` and `'7'` are the same. */
export const principalSchema: z.ZodType<string, string | number | bigint> = z
  .union([z.string(RULE).min(1, RULE), z.int(RULE), z.bigint(RULE)], RULE)
  .transform(String);
