import type { Mode } from '../../../../../scripts/servers/index.mjs';
import type { Mark } from './marks.js';
import type { World } from './world.js';

/** Something that must fail with a code, with secrets in all that it is given. */
export interface Provocation {
  readonly title: string;
  readonly code: string;
  readonly run: (world: World) => Promise<unknown>;
  /** What its own error may name, because it is documented to. */
  readonly names?: readonly Mark[];
  readonly only?: Mode;
}
