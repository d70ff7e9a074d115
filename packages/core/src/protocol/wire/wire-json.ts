import * as z from 'zod';
import type { JsonObject, JsonValue } from '../../base/json.ts';

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
