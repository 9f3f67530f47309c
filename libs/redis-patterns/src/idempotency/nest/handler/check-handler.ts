import 'reflect-metadata';
import { InvalidOptionsError, type OptionIssue } from '../../../core/errors.js';
import { requestKind, type CallSite } from '../../../nest/method-decorator/index.js';

/** Keys and numbers of Nest's own metadata, which are part of every compiled application. */
const ROUTE_ARGUMENTS = '__routeArguments__';
const RESPONSE = 1;
const NEXT = 2;

/**
 * Refuses handlers whose answer could not be kept, or that the interceptor would not see, as far as decorators tell.
 *
 * @param marked whether the method still has the mark that the interceptor looks for
 * @throws InvalidOptionsError naming `Class.method`
 */
export function checkHandler(site: CallSite, marked: boolean, where: string): void {
  const method = (site.target as Record<string | symbol, object>)[site.propertyKey]!;
  const issues: OptionIssue[] = [];
  const refuse = (message: string): unknown => issues.push({ path: '', message });
  if (requestKind(method) !== 'http') {
    refuse("the method answers no HTTP requests; put @Idempotent with 'key' on a method that it calls");
  } else if (!marked) {
    refuse('its mark is lost, as a decorator above has replaced the method; write @Idempotent above that one');
  }
  if (Reflect.getMetadata('__sse__', method) !== undefined) refuse('the method sends events, which cannot be kept');
  const { constructor } = site.target;
  const args = (Reflect.getMetadata(ROUTE_ARGUMENTS, constructor, site.propertyKey) ?? {}) as object;
  const answersItself = Object.keys(args).some((key) => [RESPONSE, NEXT].includes(Number(key.split(':')[0])));
  if (answersItself && Reflect.getMetadata('__responsePassthrough__', constructor, site.propertyKey) !== true) {
    refuse('the method writes the response itself; inject it by @Res({ passthrough: true })');
  }
  if (issues.length > 0) throw new InvalidOptionsError(where, issues);
}
