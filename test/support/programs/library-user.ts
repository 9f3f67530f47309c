import 'reflect-metadata';
import * as library from 'nestjs-redis-patterns';
import { Injectable } from '@nestjs/common';
import { onParent, programData, tellParent } from '../parent.js';

class Dependency {}

@Injectable()
class Service {
  constructor(readonly dependency: Dependency) {}
}

// What a decorated service needs: the library's sources, and metadata that only a compiler with types' names can emit.
const parameters = (Reflect.getMetadata('design:paramtypes', Service) as { name: string }[]).map(({ name }) => name);
onParent('double', ({ value }) => void tellParent({ type: 'doubled', value: Number(value) * 2 }));
onParent('fail', () => {
  throw new Error('told to fail');
});
await tellParent({ type: 'ready', data: programData<unknown>(), exports: Object.keys(library).length, parameters });
