import * as z from 'zod';
import type { JsonObject, JsonValue } from '../../base/json.ts';

/** An object without its absent and null fields. */
type WithoutNullish<TObject> = { readonly [TKey in keyof TObject]?: Exclude<TObject[TKey], null | undefined> };

/** Removes null and undefined fields, which are equivalent to absent fields on the wire. */
export function omitNullish<TObject extends object>(object: TObject): WithoutNullish<TObject> {
  const entries = Object.entries(object).filter(([, value]) => value !== null && value !== undefined);
  // The type system cannot follow entries; the result has exactly the fields of the object that are set.
  return Object.fromEntries(entries) as WithoutNullish<TObject>;
}

/** Any JSON value. Not validated further: it was parsed from JSON text. */
export const wireJson: z.ZodType<JsonValue> = z
  .custom<JsonValue>((value) => value !== undefined, 'is missing')
  .meta({ description: 'Any JSON.' });

/** Any JSON object. */
export const wireJsonObject: z.ZodType<JsonObject> = z
  .custom<JsonObject>(
    (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
    'must be a JSON object',
  )
  .meta({ type: 'object', description: 'Any JSON object.' });
