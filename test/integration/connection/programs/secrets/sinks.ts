import { subscribe } from 'node:diagnostics_channel';
import { inspect } from 'node:util';
import type { LoggerService } from '@nestjs/common';
import { marksIn, type Mark } from './marks.js';

/** A mark that could be read where nothing may be read. */
export interface Leak {
  readonly sink: string;
  readonly printer: string;
  readonly during: string;
  readonly mark: Mark;
  readonly text: string;
}

const CHANNELS = ['connection', 'command', 'breaker', 'warning', 'error'];

/** Every way in which a value becomes text in somebody's logs. */
const PRINTERS: Record<string, (value: unknown) => string> = {
  String: (value) => String(value),
  inspect: (value) => inspect(value),
  'inspect of all that is hidden': (value) =>
    inspect(value, { depth: 20, showHidden: true, getters: true, maxStringLength: null }),
  JSON: toJson,
  'JSON of all own properties': (value) =>
    value instanceof Error ? toJson(value, Object.getOwnPropertyNames(value)) : '',
  'all that is enumerable': enumerableTexts,
  stack: (value) => (value instanceof Error ? (value.stack ?? '') : ''),
};

/** Looks at everything that leaves the library, and remembers what should not. */
export class Sinks {
  readonly leaks: Leak[] = [];
  /** How many texts each sink was given: one that got none proves nothing. */
  readonly seen: Record<string, number> = {};
  /** What is being provoked. */
  during = 'start';
  /** Marks that the errors of this provocation may name, as documented. */
  allowed: readonly Mark[] = [];

  readonly logger: LoggerService = {
    log: (...parts: unknown[]) => this.look('log line', ...parts),
    warn: (...parts: unknown[]) => this.look('log line', ...parts),
    error: (...parts: unknown[]) => this.look('log line', ...parts),
    fatal: (...parts: unknown[]) => this.look('log line', ...parts),
  };

  constructor() {
    for (const name of CHANNELS) {
      subscribe(`redis-patterns:${name}`, (payload) => this.look(`telemetry ${name}`, payload));
    }
  }

  /** An error with its causes; each is looked at by itself too, as an error reporter does. */
  error(error: unknown): void {
    for (let each = error; each !== undefined; each = (each as { cause?: unknown }).cause) this.look('error', each);
  }

  look(sink: string, ...values: unknown[]): void {
    this.seen[sink] = (this.seen[sink] ?? 0) + 1;
    for (const value of values) {
      for (const [printer, print] of Object.entries(PRINTERS)) {
        const text = print(value);
        for (const mark of marksIn(text)) {
          if (sink !== 'error' || !this.allowed.includes(mark)) this.#remember(sink, printer, mark, text);
        }
      }
    }
  }

  /** Once is enough: the printers mostly show the same. */
  #remember(sink: string, printer: string, mark: Mark, text: string): void {
    const { during, leaks } = this;
    if (leaks.some((leak) => leak.during === during && leak.sink === sink && leak.mark === mark)) return;
    leaks.push({ sink, printer, during, mark, text: excerpt(text, mark) });
  }
}

/** Every text that a serialiser could reach, at any depth, with the way to it; `inspect` gives up before. */
function enumerableTexts(value: unknown): string {
  const lines: string[] = [];
  const seen = new Set<unknown>();
  const queue: [unknown, string][] = [[value, '']];
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const [each, path] = next;
    if (typeof each === 'string') lines.push(`${path} = ${each}`);
    if (typeof each !== 'object' || each === null || seen.has(each)) continue;
    seen.add(each);
    if (each instanceof Map || each instanceof Set) {
      for (const [key, item] of each.entries()) queue.push([item, `${path}<${nameOf(key)}>`]);
    }
    for (const [key, { value: item }] of Object.entries(Object.getOwnPropertyDescriptors(each))) {
      if (Object.prototype.propertyIsEnumerable.call(each, key)) queue.push([item, `${path}.${key}`]);
    }
  }
  return lines.join('\n');
}

function nameOf(key: unknown): string {
  return typeof key === 'string' ? key : ((key as { name?: string } | null)?.name ?? typeof key);
}

function excerpt(text: string, mark: Mark): string {
  const line = text.split('\n').find((each) => marksIn(each).includes(mark)) ?? text;
  return line.slice(0, 300);
}

/** What cannot be written as JSON cannot be read in it either. */
function toJson(value: unknown, properties?: string[]): string {
  try {
    return JSON.stringify(value, properties) ?? '';
  } catch {
    return '';
  }
}
