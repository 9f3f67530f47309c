import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { FoldedLog } from './folded-log.js';

const MINUTE = 60_000;

describe('the log', () => {
  const lines: string[] = [];
  const write = (message: unknown): void => void lines.push(String(message));
  const logger = { log: write, warn: write, error: write, debug: write };

  beforeEach(() => {
    lines.length = 0;
    jest.useFakeTimers();
  });
  afterEach(() => void jest.useRealTimers());

  it('tells a line at once, and how often it was said again once in its time', () => {
    const log = new FoldedLog(logger, MINUTE);
    for (let attempt = 1; attempt <= 4; attempt++)
      log.write('warn', 'Stream', `attempt ${attempt} at entry 17-${attempt} failed`);
    log.write('warn', 'Stream', 'the group was lost');
    expect(lines).toEqual(['attempt 1 at entry 17-1 failed', 'the group was lost']);
    jest.advanceTimersByTime(MINUTE);
    expect(lines.slice(2)).toEqual(['attempt 1 at entry 17-1 failed (repeated: 3)']);
    log.write('warn', 'Stream', 'attempt 9 at entry 18-1 failed');
    jest.advanceTimersByTime(MINUTE);
    expect(lines.slice(3)).toEqual(['attempt 1 at entry 17-1 failed (repeated: 1)']);
    jest.advanceTimersByTime(MINUTE);
    log.write('warn', 'Stream', 'attempt 9 at entry 18-1 failed');
    expect(lines.slice(4)).toEqual(['attempt 9 at entry 18-1 failed']);
  });

  it('tells what it has counted when it ends, and leaves no timer', () => {
    const log = new FoldedLog(logger, MINUTE);
    log.write('error', 'Lock', 'lost');
    log.write('error', 'Lock', 'lost');
    log.close();
    expect(lines).toEqual(['lost', 'lost (repeated: 1)']);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('survives a logger that throws', () => {
    const fail = (): never => {
      throw new Error('full disk');
    };
    const log = new FoldedLog({ ...logger, warn: fail }, 0);
    expect(() => log.write('warn', 'Cache', 'x')).not.toThrow();
  });
});
