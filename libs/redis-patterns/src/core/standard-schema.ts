/** What a schema library gives (zod, valibot, arktype …), as far as it is used here: https://standardschema.dev, version 1. */
export interface StandardSchema<Output = unknown> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
  };
}

interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

type SchemaResult<Output> =
  { readonly value: Output; readonly issues?: undefined } | { readonly issues: readonly SchemaIssue[] };

export function isStandardSchema(value: unknown): value is StandardSchema {
  if (value === null || (typeof value !== 'object' && typeof value !== 'function')) return false;
  return typeof (value as Partial<StandardSchema>)['~standard']?.validate === 'function';
}

/**
 * What the schema makes of a value; a promise only where the schema answers with one.
 *
 * @param refuse makes the error of a value that does not fit, out of what the schema says of it
 */
export function validate(
  schema: StandardSchema,
  value: unknown,
  refuse: (issues: readonly string[]) => Error,
): unknown {
  const valueOf = (result: SchemaResult<unknown>): unknown => {
    if (result.issues === undefined) return result.value;
    throw refuse(result.issues.map(describe));
  };
  const result = schema['~standard'].validate(value);
  return result instanceof Promise ? result.then(valueOf) : valueOf(result);
}

function describe({ message, path = [] }: SchemaIssue): string {
  const names = path.map((part) => String(typeof part === 'object' ? part.key : part));
  return names.length === 0 ? message : `${names.join('.')}: ${message}`;
}
