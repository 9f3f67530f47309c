// @ts-check
import { register } from 'node:module';

// `node --import ./scripts/ts-loader.mjs program.ts` runs TypeScript as the specs do: through SWC, decorators included.
register('./ts-loader-hooks.mjs', import.meta.url);
