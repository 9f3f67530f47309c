export { tokenPart } from './module-part.js';
