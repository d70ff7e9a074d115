import { Readable } from 'node:stream';
import type { RolloutMode } from '@agentlightning/core';
import { parse } from '@agentlightning/core/internal';
import type { Hono } from 'hono';
import { z } from 'zod';
import type { DashboardContext } from '../dashboard-context.ts';

/** The examples of a data set for fine-tuning. */
export interface DatasetRequest {
  readonly run: string;
  /** `chat`: conversations to imitate (SFT). `preference`: pairs of a better and a worse response. */
  readonly format: 'chat' | 'preference';
  /** What decides: rewards, or the labels and preferences of people. */
  readonly from: 'rewards' | 'annotations';
  readonly mode: RolloutMode;
  /** For `chat` by rewards: only rollouts with at least this reward. */
  readonly minReward?: number;
}

/** Reads a data set as lines of JSON, each with its line break. */
export type DatasetReader = (request: DatasetRequest) => AsyncIterable<string>;

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
