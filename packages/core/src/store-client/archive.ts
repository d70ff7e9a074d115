import { AgentLightningError } from '../base/agent-lightning-error.ts';
import { specialRoutes } from '../protocol/routes/special-routes.ts';
import { addressText } from '../redaction/address-text.ts';
import type { Run } from '../store/run.ts';
import type { StoreTransport } from './transport.ts';

/** Media type of a run archive. */
const archiveType = 'application/gzip';

/** Downloads a run archive as a stream; an interrupted download throws. */
export async function* exportOverHttp(transport: StoreTransport, runId: string): AsyncGenerator<Uint8Array> {
  const response = await transport.open(specialRoutes.exportRun, { parameters: [runId] });
  if (response.body === null) return;
  const reader = response.body.getReader();
  try {
    for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) yield chunk.value;
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new AgentLightningError({
      code: 'UNREACHABLE',
      message: `The download from ${addressText(response.url)} was interrupted: ${reason}`,
      remedy: 'Check that the store server runs (`agl store`), then try again.',
      cause,
    });
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/** Uploads a run archive as a stream. */
export function importOverHttp(transport: StoreTransport, archive: AsyncIterable<Uint8Array>): Promise<Run> {
  const chunks = archive[Symbol.asyncIterator]();
  const body = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      const next = await chunks.next();
      if (next.done === true) controller.close();
      else controller.enqueue(next.value);
    },
    cancel: async () => {
      await chunks.return?.();
    },
  });
  return transport.upload(specialRoutes.importRun, body, archiveType);
}
