import { randomUUID } from 'node:crypto';
import { isJsonObject, parseJsonObject } from '@agentlightning/core/internal';
import type { AttemptScore } from './summarize-roots.ts';

/** Where a tool takes scores, which its list of traces shows and filters. */
export interface ScoreTarget {
  readonly tool: 'langfuse' | 'phoenix';
  readonly url: string;
}

/** Maximum scores of one request. */
const maxScores = 100;

/**
 * The bodies of the requests that send scores. A repeated export replaces the scores of the first one.
 *
 * @param timeMs - the time of the request, in Unix milliseconds
 */
export function scoreRequests(
  { tool }: ScoreTarget,
  scores: readonly AttemptScore[],
  timeMs: number,
): readonly { readonly count: number; readonly body: object }[] {
  const requests: { readonly count: number; readonly body: object }[] = [];
  for (let start = 0; start < scores.length; start += maxScores) {
    const batch = scores.slice(start, start + maxScores);
    const body = tool === 'langfuse' ? langfuseEvents(batch, timeMs) : phoenixAnnotations(batch);
    requests.push({ count: batch.length, body });
  }
  return requests;
}

/** The reasons for scores that the tool rejected, of the response of Langfuse with status 207. */
export function rejectedScores(response: Uint8Array): readonly string[] {
  const { errors } = parseJsonObject(new TextDecoder().decode(response)) ?? {};
  if (!Array.isArray(errors)) return [];
  return errors.map((error) => (isJsonObject(error) ? String(error.message ?? error.error ?? error.status) : '?'));
}

function langfuseEvents(scores: readonly AttemptScore[], timeMs: number): object {
  const timestamp = new Date(timeMs).toISOString();
  return {
    batch: scores.map(({ traceId, name, value }) => ({
      id: randomUUID(),
      timestamp,
      type: 'score-create',
      body: { id: `${traceId}-${name}`, traceId, name, value, dataType: 'NUMERIC' },
    })),
  };
}

function phoenixAnnotations(scores: readonly AttemptScore[]): object {
  return {
    data: scores.map(({ spanId, name, value }) => ({
      span_id: spanId,
      name,
      annotator_kind: 'CODE',
      result: { score: value },
      identifier: 'agentlightning',
    })),
  };
}
