import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { InvalidOptionsError } from '../core/errors.js';
import { PatternsApp } from './patterns-app.js';

/** The class of the module by itself, in `imports`, brings nothing but this: streams would not be read, and calls would fail. */
@Injectable()
export class RegistrationCheck implements OnModuleInit {
  /** Private to the language: whoever prints this object would else print the whole application. */
  readonly #modules: ModulesContainer;

  constructor(@Inject(ModulesContainer) modules: ModulesContainer) {
    this.#modules = modules;
  }

  /** @throws InvalidOptionsError when nobody has given options */
  onModuleInit(): void {
    if ([...this.#modules.values()].some(({ providers }) => providers.has(PatternsApp))) return;
    const message =
      'it is imported without options, and brings nothing; import RedisPatternsModule.forRoot() or forRootAsync() in the root module';
    throw new InvalidOptionsError('RedisPatternsModule', [{ path: '', message }]);
  }
}
