export { feedPart } from './module-part.js';
