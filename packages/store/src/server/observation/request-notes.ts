import type { IncomingMessage } from 'node:http';
import type { HttpBindings } from '@hono/node-server';
import type { Context } from 'hono';

/** What is found out about a request while it is answered, for whoever counts and logs it at the end. */
export interface RequestNotes {
  /** The id it goes by in logs, here and at the client's. */
  readonly requestId: string;
  /** The route's path as the router has it, without ids; null when there is none. */
  path: string | null;
  /** Who sent it: the id of a key or of an attempt, never a key; null when nobody knows. */
  sender: string | null;
  /** Whether it may take long without anybody being slow: it waits for something to happen, or streams. */
  isWait: boolean;
  /** The code of the error that it was answered with; null when there was none. */
  errorCode: string | null;
}

const notes = new WeakMap<IncomingMessage, RequestNotes>();

/** Begins the notes of a request. */
export function beginNotes(request: IncomingMessage, requestId: string): RequestNotes {
  const begun: RequestNotes = { requestId, path: null, sender: null, isWait: false, errorCode: null };
  notes.set(request, begun);
  return begun;
}

/** Adds to the notes of a request. One that did not come over the network has none. */
export function note(context: Context, found: Partial<Omit<RequestNotes, 'requestId'>>): void {
  const request = incomingOf(context);
  const known = request === undefined ? undefined : notes.get(request);
  if (known !== undefined) Object.assign(known, found);
}

/** The id that a request goes by; null for one that did not come over the network. */
export function requestIdOf(context: Context): string | null {
  const request = incomingOf(context);
  return (request === undefined ? undefined : notes.get(request)?.requestId) ?? null;
}

/** The request as Node has it; undefined for one that did not come over the network. */
export function incomingOf(context: Context): IncomingMessage | undefined {
  const bindings = context.env as Partial<HttpBindings> | undefined;
  return bindings?.incoming;
}
