import type { PatternPart } from '../../nest/pattern-part.js';
import { TokenService, type ResolvedTokenOptions } from '../index.js';
import { resolveTokenOptions } from '../token.options.js';

/** What tokens add to the module. */
export const tokenPart: PatternPart<ResolvedTokenOptions> = {
  option: 'token',
  keeps: 'durable',
  resolve: resolveTokenOptions,
  services: [{ token: TokenService, create: (context, options) => new TokenService(context, options) }],
  decorators: [],
};
