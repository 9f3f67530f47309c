export { TokenUnavailableError } from './token.errors.js';
export type { ResolvedTokenOptions, TokenIssueOptions, TokenOptions } from './token.options.js';
export { TokenService } from './token.service.js';
