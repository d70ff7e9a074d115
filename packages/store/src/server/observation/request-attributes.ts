import type { IncomingMessage } from 'node:http';
import type { HttpBindings } from '@hono/node-server';
import type { Context } from 'hono';

/** Attributes of a request, collected for metrics and the log. */
export interface RequestAttributes {
  /** Its project; null before it is known. */
  project: string | null;
  /** Its id in the logs of server and client. */
  readonly requestId: string;
  /** The route pattern, without ids; null when no route matches. */
  path: string | null;
  /** The sender: the id of a key or of an attempt, never a key; null when unknown. */
  sender: string | null;
  /** Whether it is a long poll or a stream, whose duration does not indicate a slow server. */
  isWait: boolean;
  /** The error code of the response; null when it succeeded. */
  errorCode: string | null;
}

const attributes = new WeakMap<IncomingMessage, RequestAttributes>();

/** Initialises the attributes of a request. */
export function initRequestAttributes(request: IncomingMessage, requestId: string): RequestAttributes {
  const created: RequestAttributes = {
    requestId,
    project: null,
    path: null,
    sender: null,
    isWait: false,
    errorCode: null,
  };
  attributes.set(request, created);
  return created;
}

/** Sets attributes of a request; no effect on requests that were not received over the network. */
export function setRequestAttributes(context: Context, found: Partial<Omit<RequestAttributes, 'requestId'>>): void {
  const request = incomingOf(context);
  const known = request === undefined ? undefined : attributes.get(request);
  if (known !== undefined) Object.assign(known, found);
}

/** The id of a request; null when it was not received over the network. */
export function requestIdOf(context: Context): string | null {
  const request = incomingOf(context);
  return (request === undefined ? undefined : attributes.get(request)?.requestId) ?? null;
}

/** Node's request object; undefined when the request was not received over the network. */
export function incomingOf(context: Context): IncomingMessage | undefined {
  const bindings = context.env as Partial<HttpBindings> | undefined;
  return bindings?.incoming;
}
