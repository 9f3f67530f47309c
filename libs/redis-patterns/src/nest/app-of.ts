import type { ModuleRef } from '@nestjs/core';
import { InvalidOptionsError } from '../core/errors.js';
import { PatternsApp } from './patterns-app.js';

/**
 * What the application has of this library, wherever in it `RedisPatternsModule` is visible: there is one registration.
 *
 * @throws InvalidOptionsError when there is none
 */
export function appOf(moduleRef: ModuleRef, where: string): PatternsApp {
  try {
    return moduleRef.get(PatternsApp, { strict: false });
  } catch {
    const message = 'needs RedisPatternsModule.forRoot() or forRootAsync() in this application';
    throw new InvalidOptionsError(where, [{ path: '', message }]);
  }
}
