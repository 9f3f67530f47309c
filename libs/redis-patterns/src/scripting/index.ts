export { runScript, sendScript, type ScriptCallOptions } from './run-script.js';
export type { Script } from './script.js';
