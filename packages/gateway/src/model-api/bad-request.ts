import type { JsonObject, JsonValue } from '@agentlightning/core';
import { isJsonObject } from '@agentlightning/core/internal';
import { GatewayError } from '../wire/gateway-error.ts';
import { isJsonList } from '../wire/json-access.ts';

/** A 400 error, with the invalid parameter. */
export function badRequest(param: string | null, message: string, remedy?: string): GatewayError {
  return new GatewayError({
    code: 'VALIDATION',
    httpStatus: 400,
    type: 'invalid_request_error',
    message,
    param,
    ...(remedy === undefined ? {} : { remedy }),
  });
}

/** The objects of a list in a request. @throws GatewayError 400 unless it is a list of objects */
export function requiredObjects(value: JsonValue | undefined, param: string): readonly JsonObject[] {
  if (!isJsonList(value)) throw badRequest(param, `${param} is not a list`);
  return value.map((entry, index) => {
    if (!isJsonObject(entry)) throw badRequest(param, `${param}: entry ${index} is not an object`);
    return entry;
  });
}

/** As {@link objectList}, for an optional list. */
export function optionalObjects(value: JsonValue | undefined, param: string): readonly JsonObject[] {
  return value === undefined || value === null ? [] : requiredObjects(value, param);
}

/** An optional string; null when absent. @throws GatewayError 400 for another type */
export function optionalText(value: JsonValue | undefined, param: string): string | null {
  if (value === undefined || value === null) return null;
  if (typeof value !== 'string') throw badRequest(param, `${param} is not a string`);
  return value;
}

/**
 * Runs the conversion of a request. Parsing accepts deeper nesting than recursive conversion and serialization do.
 *
 * @throws GatewayError 400 when the request is nested too deeply
 */
export async function unlessTooDeep<TResult>(make: () => TResult | Promise<TResult>): Promise<TResult> {
  try {
    return await make();
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw badRequest(null, 'the request body is nested too deeply', 'Send fewer lists and objects within each other.');
  }
}

/** Error for a feature that only the vendor's own servers support. */
export function notTranslatable(param: string, what: string): GatewayError {
  return badRequest(
    param,
    `${param}: ${what} is not supported by this model, which is called through Chat Completions`,
    'Leave it out, or configure an upstream with this API in its `apis`.',
  );
}

/** The fields of a request that Chat Completions lack, as text for the record. */
export function namesOfOmitted(request: JsonObject, fields: readonly string[]): readonly string[] {
  const given = fields.filter((name) => request[name] !== undefined && request[name] !== null);
  return given.map((name) => `${name}: left out`);
}
