export { doctorPart } from './module-part.js';
