/** A session as it was when it was read. */
export interface Session<Data extends object = Record<string, unknown>> {
  /** Names the session, for lists and logs: it lets nobody use it. */
  readonly handle: string;
  /** Whose it is; `undefined` before a login. */
  readonly principal: string | undefined;
  readonly createdAt: Date;
  /** When it ends if nobody uses it, by the clock of the server. */
  readonly expiresAt: Date;
  /** When it ends however much it is used. */
  readonly endsAt: Date;
  /** Grows by one with each {@link SessionService.update}. */
  readonly version: number;
  /** A private copy. */
  readonly data: Data;
}

/** A change of the data of a session: fields that are `undefined` are removed, those that are not named stay. */
export type SessionPatch<Data extends object> = { readonly [Field in keyof Data]?: Data[Field] | undefined };
