import type { z } from 'zod';
import { closest } from './closest.js';
import type { OptionIssue } from './errors.js';
import { knownOptions, unionBranches, valueAt } from './option-schema.js';

type Issue = z.core.$ZodIssue;
type UnionIssue = z.core.$ZodIssueInvalidUnion;

/** Of a union whose schema has no message of its own. */
const NO_MESSAGE = '';

/** What was parsed, and where it stands. */
interface Subject {
  readonly schema: z.core.$ZodType;
  readonly raw: unknown;
  /** Option path of `raw`. */
  readonly prefix: string;
}

/** Turns what zod found into issues that name the whole option path and the remedy. Never quotes a value. */
export function toOptionIssues(issues: readonly Issue[], subject: Subject): OptionIssue[] {
  return issues.flatMap((issue): OptionIssue[] => {
    const path = joinPath(subject.prefix, issue.path);
    switch (issue.code) {
      case 'unrecognized_keys': {
        const known = knownOptions(subject.schema, issue.path, subject.raw);
        return issue.keys.map((key) => ({ path: joinPath(path, [key]), message: unknownOption(key, known) }));
      }
      case 'invalid_union':
        return issue.errors.length > 0 ? unionIssues(issue, subject) : [{ path, message: issue.message }];
      case 'invalid_key':
        return [
          { path, message: `this name is not accepted: ${issue.issues.map(({ message }) => message).join('; ')}` },
        ];
      default:
        return [{ path, message: issue.message }];
    }
  });
}

/**
 * Of a union's branches, the one that was meant speaks; when the value is like none of them, the union does, or else all say what
 * they want.
 */
function unionIssues({ errors, path, message: own }: UnionIssue, subject: Subject): OptionIssue[] {
  const prefix = joinPath(subject.prefix, path);
  const meant = closestBranch(errors);
  if (meant === undefined) {
    const message = own === NO_MESSAGE ? joinMessages(errors.flat().map(({ message: each }) => each)) : own;
    return [{ path: prefix, message }];
  }
  const schema = unionBranches(subject.schema, path, subject.raw)[meant] ?? subject.schema;
  return toOptionIssues(errors[meant]!, { schema, raw: valueAt(subject.raw, path), prefix });
}

/** `must be a boolean, not a number` and `must be a text, not a number` become `must be a boolean, or a text`. */
function joinMessages(messages: readonly string[]): string {
  const opening = ['must be ', 'is required; give '].find((text) =>
    messages.every((message) => message.startsWith(text)),
  );
  const wishes = messages.map((message) => message.slice(opening?.length ?? 0).replace(/, not [\w ]+$/, ''));
  return (opening ?? '') + [...new Set(wishes)].join(', or ');
}

/** Index of the branch whose complaints lie deepest, and are fewest; `undefined` when none got beyond the value's type. */
function closestBranch(errors: readonly Issue[][]): number | undefined {
  const ranked = errors
    .map((branch, index) => ({ index, depth: Math.max(...branch.map(depthOf)), count: branch.length }))
    .filter(({ depth }) => depth > 0)
    .sort((a, b) => b.depth - a.depth || a.count - b.count);
  return ranked[0]?.index ?? (errors.length === 1 ? 0 : undefined);
}

function depthOf(issue: Issue): number {
  return issue.path.length + (issue.code === 'unrecognized_keys' ? 1 : 0);
}

function joinPath(prefix: string, path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`;
    const name = String(part);
    if (!/^[\w$-]+$/.test(name)) return `${text}[${JSON.stringify(name)}]`;
    return text === '' ? name : `${text}.${name}`;
  }, prefix);
}

/** Says of an option that does not exist what is meant, or what there is. */
export function unknownOption(key: string, known: readonly string[]): string {
  const guess = closest(key, known);
  if (guess !== undefined) return `unknown option; did you mean '${guess}'?`;
  return known.length > 0 ? `unknown option; known are ${known.join(', ')}` : 'unknown option; remove it';
}

/**
 * Messages for what a schema has no message of its own for. They say what to give instead.
 *
 * @returns `undefined` where zod's own text will do
 */
export const describeIssue: z.core.$ZodErrorMap = (issue) => {
  switch (issue.code) {
    case 'invalid_type': {
      const expected = withArticle(issue.expected === 'int' ? 'whole number' : issue.expected);
      if (issue.input === undefined) return `is required; give ${expected}`;
      return `must be ${expected}, not ${withArticle(typeName(issue.input))}`;
    }
    case 'invalid_value':
      return `must be ${oneOf(issue.values)}`;
    case 'invalid_union':
      return issue.discriminator === undefined
        ? NO_MESSAGE
        : `must be ${oneOf((issue.options as readonly z.core.util.Primitive[] | undefined) ?? [])}`;
    case 'too_small':
      return isNumeric(issue.origin)
        ? `must be ${issue.inclusive ? 'at least' : 'more than'} ${issue.minimum}`
        : undefined;
    case 'too_big':
      return isNumeric(issue.origin)
        ? `must be ${issue.inclusive ? 'at most' : 'less than'} ${issue.maximum}`
        : undefined;
    case 'custom':
      return 'is not of a kind that is accepted here';
    default:
      return undefined;
  }
};

function isNumeric(origin: string): boolean {
  return origin === 'number' || origin === 'int' || origin === 'bigint';
}

function oneOf(values: readonly z.core.util.Primitive[]): string {
  // `undefined` among the choices only says that the option may be left out.
  const texts = values
    .filter((value) => value !== undefined)
    .map((value) => (typeof value === 'string' ? `'${value}'` : String(value)));
  return texts.length === 1 ? texts[0]! : `one of ${texts.join(', ')}`;
}

function withArticle(type: string): string {
  if (type === 'null' || type === 'undefined' || type === 'NaN') return type;
  return `${/^[aeiou]/i.test(type) ? 'an' : 'a'} ${type}`;
}

function typeName(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value !== 'number') return typeof value;
  if (Number.isNaN(value)) return 'NaN';
  return Number.isInteger(value) ? 'number' : 'fraction or infinite number';
}
