import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { runCodec } from '@agentlightning/core/protocol';
import type { Hono } from 'hono';
import { answerJson } from '../answer.ts';
import { MalformedRequestError } from '../malformed-request-error.ts';
import type { StoreRouteOptions } from '../store-route.ts';

const archiveType = 'application/gzip';

/** Export and import of runs. Archives are streamed, so the body limit does not apply. */
export function addArchiveRoutes(app: Hono, { store }: StoreRouteOptions): void {
  app.get('/runs/:runId/archive', async (context) => {
    const runId = context.req.param('runId');
    // An unknown run is an error, not a truncated archive.
    await store.getRun(runId);
    const archive = Readable.toWeb(Readable.from(store.exportRun(runId), { objectMode: false }));
    // Node's and the web's types of the same stream.
    return context.body(archive as unknown as globalThis.ReadableStream, 200, { 'content-type': archiveType });
  });

  app.post('/archives/runs', async (context) => {
    const type = context.req.header('content-type')?.split(';')[0]?.trim();
    if (type !== archiveType) {
      throw new MalformedRequestError([
        { path: '', message: `content type must be ${archiveType}, got ${type ?? 'none'}` },
      ]);
    }
    const body = context.req.raw.body;
    const pieces = body === null ? [] : Readable.fromWeb(body as unknown as ReadableStream);
    return answerJson(
      context,
      runCodec.encode(await store.importRun(Readable.from(pieces, { objectMode: false }))),
      201,
    );
  });
}
