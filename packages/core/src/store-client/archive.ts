import { AgentLightningError } from '../errors/agent-lightning-error.ts';
import { parse } from '../parse.ts';
import { runCodec } from '../protocol/runs/wire-run.ts';
import { errorFromWire } from '../protocol/wire-error.ts';
import { addressText } from '../redaction/address-text.ts';
import type { Run } from '../store/run.ts';
import { idSegment } from './id-segment.ts';
import type { StoreClientOptions } from './options.ts';

/** Media type of a run archive. */
const archiveType = 'application/gzip';

/** Downloads a run archive as a stream; an interrupted download throws. */
export async function* exportOverHttp(options: StoreClientOptions, runId: string): AsyncGenerator<Uint8Array> {
  const response = await send(options, `/runs/${idSegment('runId', runId)}/archive`, {});
  if (!response.ok) throw await errorOf(response);
  if (response.body === null) return;
  const reader = response.body.getReader();
  try {
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) yield piece.value;
  } catch (cause) {
    throw unreachable(response.url, cause);
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/** Uploads a run archive as a stream. Without retry: a stream cannot be read twice. */
export async function importOverHttp(options: StoreClientOptions, archive: AsyncIterable<Uint8Array>): Promise<Run> {
  const pieces = archive[Symbol.asyncIterator]();
  const body = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      const next = await pieces.next();
      if (next.done === true) controller.close();
      else controller.enqueue(next.value);
    },
    cancel: async () => {
      await pieces.return?.();
    },
  });
  const init: RequestInit & { readonly duplex: 'half' } = {
    method: 'POST',
    headers: { 'content-type': archiveType },
    body,
    duplex: 'half',
  };
  const response = await send(options, '/archives/runs', init);
  if (!response.ok) throw await errorOf(response);
  return parse(runCodec, await response.json(), 'Answer of the store to /archives/runs');
}

async function send(options: StoreClientOptions, path: string, init: RequestInit): Promise<Response> {
  const { apiKey, fetch = globalThis.fetch } = options;
  const url = `${options.baseUrl.replace(/\/+$/, '').replace(/\/v1\/agl$/, '')}/v1/agl${path}`;
  const headers = new Headers(init.headers);
  if (apiKey !== undefined) headers.set('authorization', `Bearer ${apiKey}`);
  try {
    return await fetch(url, { ...init, headers });
  } catch (cause) {
    throw unreachable(url, cause);
  }
}

async function errorOf(response: Response): Promise<AgentLightningError> {
  const text = await response.text();
  try {
    return errorFromWire(response.status, JSON.parse(text));
  } catch {
    return errorFromWire(response.status, text);
  }
}

function unreachable(url: string, cause: unknown): AgentLightningError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new AgentLightningError({
    code: 'UNREACHABLE',
    message: `The store at ${addressText(url)} cannot be reached, or broke off: ${reason}`,
    remedy: 'Check that the store server runs at this address (`agl store`), then try again.',
    cause,
  });
}
