import type { JsonObject, JsonValue } from '@agentlightning/core';
import { isJsonObject } from '@agentlightning/core/internal';
import { GatewayError } from '../gateway-error.ts';
import { isJsonList } from '../http/json-access.ts';

/** A request that cannot be answered as it is, and the part of it that is why. */
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

/** The objects of a list in a request. @throws GatewayError 400 when it is no list, or something else is in it */
export function requiredObjects(value: JsonValue | undefined, param: string): readonly JsonObject[] {
  if (!isJsonList(value)) throw badRequest(param, `${param} is not a list`);
  return value.map((entry, index) => {
    if (!isJsonObject(entry)) throw badRequest(param, `${param}: entry ${index} is not an object`);
    return entry;
  });
}

/** The same, of a list that may be left out. */
export function optionalObjects(value: JsonValue | undefined, param: string): readonly JsonObject[] {
  return value === undefined || value === null ? [] : requiredObjects(value, param);
}

/** A text that may be left out; null when it is. @throws GatewayError 400 when it is something else */
export function optionalText(value: JsonValue | undefined, param: string): string | null {
  if (value === undefined || value === null) return null;
  if (typeof value !== 'string') throw badRequest(param, `${param} is not a text`);
  return value;
}

/**
 * What a request becomes on its way to a model. It may be nested more deeply than it can be gone through or written
 * again, though it could be read.
 *
 * @throws GatewayError 400 for such a one
 */
export async function unlessTooDeep<TResult>(make: () => TResult | Promise<TResult>): Promise<TResult> {
  try {
    return await make();
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw badRequest(null, 'the request body is nested too deeply', 'Send fewer lists and objects within each other.');
  }
}

/** A request for what only the vendor's own servers can do: a model behind Chat Completions cannot. */
export function notTranslatable(param: string, what: string): GatewayError {
  return badRequest(
    param,
    `${param}: ${what} cannot be had from this model, which is reached by Chat Completions`,
    'Leave it out, or give the gateway an upstream that has this API itself and say so in its `apis`.',
  );
}
