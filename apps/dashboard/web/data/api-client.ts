import type { ErrorView } from '../../src/api/store-views.ts';

/** A failed request: message and remedy for the viewer. */
export class ApiError extends Error {
  readonly code: string;
  readonly remedy: string;

  constructor({ code, message, remedy }: ErrorView['error']) {
    super(message);
    this.code = code;
    this.remedy = remedy;
  }
}

/** Values of a query string; absent ones are left out. */
export type QueryValues = Readonly<Record<string, string | number | undefined>>;

/** Reads a route of the API. */
export async function read<TView>(path: string, query: QueryValues, signal: AbortSignal): Promise<TView> {
  const given = Object.entries(query).filter((entry): entry is [string, string | number] => entry[1] !== undefined);
  const search = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  const response = await fetch(search === '' ? path : `${path}?${search}`, { signal }).catch((cause: unknown) => {
    if (signal.aborted) throw cause;
    throw new ApiError({
      code: 'UNREACHABLE',
      message: 'The dashboard server cannot be reached.',
      remedy: 'Check that `agl dashboard` is running. The page reconnects automatically.',
    });
  });
  const body: unknown = await response.json().catch(() => null);
  if (!response.ok) throw new ApiError(errorIn(body, response.status));
  return body as TView;
}

/** Sends JSON to a route of the API; null of a response without a body. */
export async function send<TView>(path: string, body: object): Promise<TView | null> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(path, { method: 'POST', headers, body: JSON.stringify(body) });
  const received: unknown = response.status === 204 ? null : await response.json().catch(() => null);
  if (!response.ok) throw new ApiError(errorIn(received, response.status));
  return received as TView | null;
}

function errorIn(body: unknown, status: number): ErrorView['error'] {
  if (typeof body === 'object' && body !== null && 'error' in body) return (body as ErrorView).error;
  return { code: 'INTERNAL', message: `The server responded with status ${status}.`, remedy: 'Reload the page.' };
}
