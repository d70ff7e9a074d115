import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { specialRoutes } from '@agentlightning/core/protocol';
import { assertContentType } from '../request-input.ts';
import { idsOf, outputResponse, type SpecialHandlers, type StoreRouteOptions } from '../route-handler.ts';

const archiveType = 'application/gzip';

/** Exports and imports runs. Archives are streamed. */
export function archiveHandlers({ store }: StoreRouteOptions): Pick<SpecialHandlers, 'exportRun' | 'importRun'> {
  return {
    exportRun: async (context) => {
      const [runId = ''] = idsOf(context, specialRoutes.exportRun);
      // An unknown run is an error, not a truncated archive.
      await store.getRun(runId);
      const archive = Readable.toWeb(Readable.from(store.exportRun(runId), { objectMode: false }));
      // Node's and the web's types of the same stream.
      return context.body(archive as unknown as globalThis.ReadableStream, 200, { 'content-type': archiveType });
    },

    importRun: async (context) => {
      assertContentType(context, archiveType);
      const body = context.req.raw.body;
      const chunks = body === null ? [] : Readable.fromWeb(body as unknown as ReadableStream);
      const run = await store.importRun(Readable.from(chunks, { objectMode: false }));
      return outputResponse(context, specialRoutes.importRun, run);
    },
  };
}
