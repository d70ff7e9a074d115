import type { GatewayError } from '../wire/gateway-error.ts';

const typesByStatus: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  409: 'invalid_request_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  504: 'timeout_error',
  529: 'overloaded_error',
};

/** An error in Anthropic's format. */
export function messageError(status: number, message: string): string {
  const type = typesByStatus[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error');
  return JSON.stringify({ type: 'error', error: { type, message } });
}

/** An error event of a stream. */
export function messageErrorEvent(error: GatewayError): string {
  return `event: error\ndata: ${messageError(error.httpStatus, error.text)}\n\n`;
}

/** The body of an error response in Anthropic's format. */
export function messageErrorBody(error: GatewayError): string {
  return messageError(error.httpStatus, error.text);
}
