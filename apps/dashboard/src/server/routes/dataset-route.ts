import { Readable } from 'node:stream';
import { parse } from '@agentlightning/core/internal';
import type { Hono } from 'hono';
import { z } from 'zod';
import type { DashboardContext } from '../dashboard-context.ts';

const parameters = z.strictObject({
  format: z.enum(['chat', 'preference']).default('chat'),
  from: z.enum(['rewards', 'annotations']).default('annotations'),
  mode: z.enum(['train', 'val', 'test']).default('train'),
  minReward: z.coerce.number().optional(),
});

/** The download of a run's data set. */
export function addDatasetRoute(app: Hono, { store, datasets }: DashboardContext): void {
  if (datasets === null) return;
  app.get('/api/runs/:id/dataset', async (request) => {
    const { minReward, ...choice } = parse(parameters, request.req.query(), 'Query');
    const { runId: run } = await store.getRun(request.req.param('id'));
    // A minimum has a meaning for conversations that rewards select.
    const hasMinimum = minReward !== undefined && choice.format === 'chat' && choice.from === 'rewards';
    const lines = datasets({ run, ...choice, ...(hasMinimum ? { minReward } : {}) });
    request.header('content-type', 'application/jsonl; charset=utf-8');
    request.header('content-disposition', `attachment; filename="${run}-${choice.format}.jsonl"`);
    const encoder = new TextEncoder();
    const chunks = Readable.from(lines).map((line: string) => encoder.encode(line));
    return request.body(Readable.toWeb(chunks) as ReadableStream);
  });
}
