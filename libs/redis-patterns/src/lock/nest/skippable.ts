import type { AsyncMethod } from '../../nest/method-decorator/index.js';

/** `unknown` for a method whose calls may be skipped: its promise may resolve to `undefined`, or its Observable be empty. */
export type Skippable<M extends AsyncMethod> =
  ReturnType<M> extends Promise<infer Value>
    ? undefined extends Value
      ? unknown
      : { readonly 'a skipped call resolves to undefined, which the result of this method must allow': Value }
    : unknown;
