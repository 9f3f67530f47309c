// What arms need: a raw client beside the library's, and the library as an application has it.
import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { Redis } from 'ioredis';
import { RedisPatternsModule } from 'nestjs-redis-patterns';

/** @param {string} url @param {object} [options] more options of the module */
export async function openApplication(url, options = {}) {
  const module = RedisPatternsModule.forRoot({ namespace: 'bench', connection: url, ...options });
  return NestFactory.createApplicationContext(module, { logger: ['error', 'warn'] });
}

/** Defaults of ioredis. @param {string} url */
export function openRaw(url) {
  return new Redis(url);
}

/** A peer that is not installed leaves its arm out, with one line. @template T @param {string} name @returns {Promise<T | undefined>} */
export async function peer(name) {
  try {
    return /** @type {T} */ (await import(name));
  } catch {
    process.stderr.write(`[bench] ${name} is not installed: its arm is left out (npm install --prefix bench)\n`);
    return undefined;
  }
}
