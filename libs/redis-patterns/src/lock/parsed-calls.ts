/** Kinds of options that an application gives; more than that are computed, and parsed each time. */
const MOST = 200;

/**
 * What options of calls were parsed to. A program gives the same few again and again, and to parse them costs as much as the
 * rest of a call does in this process.
 */
export class ParsedCalls<Parsed extends { readonly signal?: AbortSignal | undefined }> {
  readonly #known = new Map<string, Parsed>();

  /**
   * @param parse for options that are not known yet; may throw
   */
  of(method: string, options: object, parse: () => Parsed): Parsed {
    const text = textOf(method, options);
    if (text === undefined) return parse();
    let parsed = this.#known.get(text);
    if (parsed === undefined) {
      parsed = parse();
      if (this.#known.size < MOST) this.#known.set(text, parsed);
    }
    const { signal } = options as { signal?: AbortSignal };
    return parsed.signal === signal ? parsed : { ...parsed, signal };
  }
}

/** The same for equal options; `undefined` when they hold what has to be looked at. */
function textOf(method: string, options: object): string | undefined {
  if (options === null || typeof options !== 'object') return undefined;
  let text = method;
  for (const name of Object.keys(options)) {
    const value = (options as Record<string, unknown>)[name];
    const kind = typeof value;
    if (kind === 'number' || kind === 'string' || kind === 'boolean') text += `\n${name}:${kind}:${String(value)}`;
    else if (name === 'signal' && value instanceof AbortSignal) text += '\nsignal';
    else return undefined;
  }
  return text;
}
