import type { HttpRequest } from '../../../nest/http/exchange.js';

/** Hides query parameters of a request from whoever reads them: Express and Fastify keep them in `query`. */
export class HiddenQuery {
  #hiders = 0;
  /** What the request had as its own `query`, while there is another one in its place. */
  #shown: { readonly own: PropertyDescriptor | undefined } | undefined;

  constructor(private readonly request: HttpRequest) {}

  /** Whether somebody who reads the query now does not see all of it. */
  get isHiding(): boolean {
    return this.#shown !== undefined;
  }

  /** Has everybody see only these parameters, until {@link show} is called as often as this. */
  hideExcept(names: readonly string[]): void {
    if (this.#hiders++ > 0) return;
    const { request } = this;
    const all = request.query;
    if (all === undefined || all === null) return;
    const shown = Object.getOwnPropertyDescriptor(request, 'query');
    if (Object.keys(all).some((name) => !names.includes(name))) {
      this.#shown = { own: shown };
      const declared = names.filter((name) => Object.hasOwn(all, name));
      setQuery(request, Object.fromEntries(declared.map((name) => [name, all[name]])));
    } else if (shown === undefined) {
      // In Express 5 it is a getter of the prototype, which parses the address each time.
      setQuery(request, all);
    }
  }

  show(): void {
    if (--this.#hiders > 0 || this.#shown === undefined) return;
    const { own } = this.#shown;
    this.#shown = undefined;
    if (own === undefined) Reflect.deleteProperty(this.request, 'query');
    else Object.defineProperty(this.request, 'query', own);
  }
}

/** As its own property, which hides that of the prototype. */
function setQuery(request: HttpRequest, value: Record<string, unknown>): void {
  Object.defineProperty(request, 'query', { value, configurable: true, enumerable: true, writable: true });
}
