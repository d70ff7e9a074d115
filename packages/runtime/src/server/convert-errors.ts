import type { Interceptor } from '@connectrpc/connect';
import { toConnectError } from '../wire/grpc-error.ts';

/** Runs a function; converts what it throws to the contract's errors. */
export function convertErrors<TResult>(run: () => TResult): TResult {
  try {
    return run();
  } catch (error) {
    throw toConnectError(error);
  }
}

/** Converts what handlers throw, before their first response and after it, to the contract's errors. */
export const errorInterceptor: Interceptor = (next) => async (request) => {
  try {
    const response = await next(request);
    return response.stream ? { ...response, message: convertingErrors(response.message) } : response;
  } catch (error) {
    throw toConnectError(error);
  }
};

async function* convertingErrors<TMessage>(messages: AsyncIterable<TMessage>): AsyncGenerator<TMessage> {
  try {
    yield* messages;
  } catch (error) {
    throw toConnectError(error);
  }
}
