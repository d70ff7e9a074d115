import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';

/** A request and its response, as the listener of Hono passes them to an application. */
export interface HttpExchange {
  readonly incoming: Readable & { readonly headers: IncomingHttpHeaders };
  readonly outgoing: { setHeader(name: string, value: string): unknown };
}

type Respond<TEnv> = (request: Request, env: TEnv) => Response | Promise<Response>;

/** Maximum number of bytes of an unread body that are discarded, as many as Hono's listener does. */
const maxDiscardedBytes = 64 * 1024 * 1024;

/**
 * An application that responds after the whole request has arrived, also when it rejects a request without reading its body.
 * Otherwise the listener ends the connection half a second later, under a request that the client sends next on it. The
 * connection of a larger body ends with the response.
 *
 * @example
 * ```ts
 * const listener = getRequestListener(respondToWholeRequests(app.fetch), { overrideGlobalObjects: false });
 * ```
 */
export function respondToWholeRequests<TEnv>(respond: Respond<TEnv>): Respond<TEnv & HttpExchange> {
  return (request, env) => {
    const response = respond(request, env);
    const { 'content-length': length, 'transfer-encoding': encoding } = env.incoming.headers;
    const hasBody = encoding !== undefined || (length !== undefined && length !== '0');
    return hasBody ? afterRequest(response, env) : response;
  };
}

async function afterRequest(
  responding: Response | Promise<Response>,
  { incoming, outgoing }: HttpExchange,
): Promise<Response> {
  const response = await responding;
  if (!(await discardRest(incoming))) outgoing.setHeader('connection', 'close');
  return response;
}

/** Discards what has not been read; false when it is too much. */
function discardRest(incoming: HttpExchange['incoming']): Promise<boolean> {
  if (incoming.readableEnded || incoming.destroyed) return Promise.resolve(true);
  // Those of a reader that stopped before the end would pause the request.
  incoming.removeAllListeners('data');
  return new Promise((resolve) => {
    let bytes = 0;
    const count = (part: Uint8Array): void => {
      bytes += part.byteLength;
      if (bytes > maxDiscardedBytes) end(false);
    };
    const end = (isComplete: boolean): void => {
      incoming.off('data', count);
      resolve(isComplete);
    };
    for (const event of ['end', 'error', 'close']) incoming.on(event, () => end(true));
    incoming.on('data', count).resume();
  });
}
