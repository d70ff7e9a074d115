import type { z } from 'zod';
import { ValidationError, type ValidationIssue } from './agent-lightning-error.ts';

/**
 * Parses an external value, or throws an error that lists every invalid field.
 *
 * @param schema - the expected shape
 * @param value - the external value
 * @param what - description of the value, which starts the error message: `task file line 3`
 * @throws ValidationError when the value does not match the schema
 */
export function parse<TSchema extends z.ZodType>(schema: TSchema, value: unknown, what: string): z.output<TSchema> {
  return outcome(schema.safeParse(value), what);
}

/**
 * Encodes a value with a codec, or throws an error that lists every invalid field by its wire name.
 *
 * @throws ValidationError when the encoded value does not match the codec
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
  throw new ValidationError(what, validationIssues(result.error), result.error);
}

/** The invalid fields of a failed parse. */
export function validationIssues({ issues }: z.ZodError): readonly ValidationIssue[] {
  return issues.map((issue) => ({ path: pathToText(issue.path), message: issue.message }));
}

function pathToText(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, key) => {
    if (typeof key === 'number') return `${text}[${key}]`;
    return text === '' ? String(key) : `${text}.${String(key)}`;
  }, '');
}
