// What arms need: a raw client beside the library's, and the library as an application has it.
import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { Redis } from 'ioredis';
import { RedisPatternsModule } from 'nestjs-redis-patterns';

/**
 * @param {string} url
 * @param {object} [options] more options of the module
 * @param {import('@nestjs/common').LogLevel[]} [logger] what it may print
 */
export async function openApplication(url, options = {}, logger = ['error', 'warn']) {
  const module = RedisPatternsModule.forRoot({ namespace: 'bench', connection: url, ...options });
  return NestFactory.createApplicationContext(module, { logger });
}

/** Defaults of ioredis. @param {string} url @param {import('ioredis').RedisOptions} [options] */
export function openRaw(url, options = {}) {
  return new Redis(url, options);
}

/** The modules of an arm; when one is not installed the arm is left out, with one line. @param {...string} names @returns {Promise<any[] | undefined>} */
export async function peer(...names) {
  try {
    return await Promise.all(names.map((name) => import(name)));
  } catch (error) {
    const why = error?.code === 'ERR_MODULE_NOT_FOUND' ? 'not installed (npm install --prefix bench)' : String(error);
    process.stderr.write(`[bench] ${names[0]}: arm left out, ${why}\n`);
    return undefined;
  }
}
