export { countingPart } from './module-part.js';
