import type { z } from 'zod';

type Schema = z.core.$ZodType;

/** Names of the options that a schema knows at a path. Several alternatives give the names of all that fit the value. */
export function knownOptions(schema: Schema, path: readonly PropertyKey[], raw: unknown): string[] {
  let schemas = alternatives(schema, raw);
  let value = raw;
  for (const part of path) {
    value = valueAt(value, [part]);
    schemas = schemas.flatMap((parent) => childrenAt(parent, part)).flatMap((child) => alternatives(child, value));
  }
  const names = schemas.flatMap((candidate) => {
    const { def } = (candidate as z.core.$ZodTypes)._zod;
    return def.type === 'object' ? Object.keys(def.shape) : [];
  });
  return [...new Set(names)];
}

/** The options of a union, in the order of its `errors`. */
export function unionBranches(schema: Schema, path: readonly PropertyKey[], raw: unknown): readonly Schema[] {
  let schemas: Schema[] = [schema];
  let value = raw;
  for (const part of path) {
    schemas = schemas.flatMap((parent) => alternatives(parent, value)).flatMap((parent) => childrenAt(parent, part));
    value = valueAt(value, [part]);
  }
  for (const candidate of schemas) {
    const { def } = (unwrap(candidate) as z.core.$ZodTypes)._zod;
    if (def.type === 'union') return def.options;
  }
  return [];
}

/** What stands at a path of the raw options. */
export function valueAt(raw: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((value, part) => (value as Record<PropertyKey, unknown> | null | undefined)?.[part], raw);
}

/** Looks through wrappers, unions and intersections; of a discriminated union only at the branch the value is for. */
function alternatives(schema: Schema, raw: unknown): Schema[] {
  const inner = unwrap(schema);
  const { def } = (inner as z.core.$ZodTypes)._zod;
  if (def.type === 'intersection') return [...alternatives(def.left, raw), ...alternatives(def.right, raw)];
  if (def.type !== 'union') return [inner];
  const discriminator = (def as Partial<z.core.$ZodDiscriminatedUnionDef>).discriminator;
  const chosen = discriminator === undefined ? [] : def.options.filter((option) => accepts(option, discriminator, raw));
  return (chosen.length > 0 ? chosen : def.options).flatMap((option) => alternatives(option, raw));
}

function accepts(option: Schema, discriminator: string, raw: unknown): boolean {
  const accepted = option._zod.propValues?.[discriminator];
  return accepted?.has(valueAt(raw, [discriminator]) as z.core.util.Primitive) ?? false;
}

/** Looks through `.optional()`, `.default()`, `.transform()` and the like. */
function unwrap(schema: Schema): Schema {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  switch (def.type) {
    case 'optional':
    case 'nullable':
    case 'default':
    case 'prefault':
    case 'nonoptional':
    case 'catch':
    case 'readonly':
      return unwrap(def.innerType);
    case 'pipe':
      // `z.preprocess` has its schema behind the arrow, `.transform()` before it.
      return unwrap((def.in as z.core.$ZodTypes)._zod.def.type === 'transform' ? def.out : def.in);
    case 'lazy':
      return unwrap(def.getter());
    default:
      return schema;
  }
}

function childrenAt(schema: Schema, part: PropertyKey): Schema[] {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  switch (def.type) {
    case 'object': {
      const child = Object.hasOwn(def.shape, part) ? def.shape[part as string] : undefined;
      return child === undefined ? [] : [child];
    }
    case 'array':
      return [def.element];
    case 'record':
      return [def.valueType];
    case 'tuple': {
      const child = def.items[part as number] ?? def.rest;
      return child ? [child] : [];
    }
    default:
      return [];
  }
}
