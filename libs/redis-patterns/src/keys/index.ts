export { hashArguments } from './argument-hash.js';
export { escapePart, type KeyPart } from './escape.js';
export { escapeGlob } from './glob.js';
export { KeyBuilder, type Key } from './key-builder.js';
export { keyTemplate } from './key-template.js';
export { missingInKey } from './missing-part.js';
export { InvalidKeyError } from './keys.errors.js';
export { inOneSlot, slotOf } from './slot.js';
