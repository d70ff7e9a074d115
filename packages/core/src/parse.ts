import type { z } from 'zod';
import { ValidationError } from './errors/validation-error.ts';

/**
 * Turns a value from outside into a typed one, or throws an error that names every wrong field.
 *
 * @param schema - the shape the value must have
 * @param value - what came from outside
 * @param what - what the value is, as the start of the error message: `task file line 3`
 * @throws ValidationError when the value does not have the shape
 */
export function parse<TSchema extends z.ZodType>(schema: TSchema, value: unknown, what: string): z.output<TSchema> {
  return outcome(schema.safeParse(value), what);
}

/**
 * Encodes a value with a codec, or throws an error that names every wrong field as it is called on the wire.
 *
 * @throws ValidationError when the encoded value does not have the codec's shape
 */
export function encode<TCodec extends z.ZodType>(
  codec: TCodec,
  value: z.output<TCodec>,
  what: string,
): z.input<TCodec> {
  return outcome(codec.safeEncode(value), what);
}

function outcome<TData>(result: z.ZodSafeParseResult<TData>, what: string): TData {
  if (result.success) return result.data;
  throw new ValidationError(
    what,
    result.error.issues.map((issue) => ({ path: pathToText(issue.path), message: issue.message })),
    result.error,
  );
}

function pathToText(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, key) => {
    if (typeof key === 'number') return `${text}[${key}]`;
    return text === '' ? String(key) : `${text}.${String(key)}`;
  }, '');
}
