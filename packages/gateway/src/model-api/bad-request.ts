import { GatewayError } from '../gateway-error.ts';

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

/** A request for what only the vendor's own servers can do: a model behind Chat Completions cannot. */
export function notTranslatable(param: string, what: string): GatewayError {
  return badRequest(
    param,
    `${param}: ${what} cannot be had from this model, which is reached by Chat Completions`,
    'Leave it out, or give the gateway an upstream that has this API itself and say so in its `apis`.',
  );
}
