import { randomUUID } from 'node:crypto';
import { isJsonObject, parseJsonObject } from '@agentlightning/core/internal';
import type { AttemptScore } from './summarize-roots.ts';

/** Where a tool takes scores, which its list of traces shows and filters. */
export interface ScoreTarget {
  /** The tool that receives the scores. */
  readonly tool: 'langfuse' | 'phoenix' | 'mlflow';
  /** The address that takes scores; of MLflow, that of its traces. */
  readonly url: string;
}

/** Maximum scores of one request. */
const maxScores = 100;

/** A request that sends scores. */
export interface ScoreRequest {
  readonly url: string;
  readonly count: number;
  readonly body: object;
}

/**
 * The requests that send scores. A repeated export replaces the scores of the first one; MLflow keeps both.
 *
 * @param timeMs - the time of the request, in Unix milliseconds
 */
export function scoreRequests(
  { tool, url }: ScoreTarget,
  scores: readonly AttemptScore[],
  timeMs: number,
): readonly ScoreRequest[] {
  if (tool === 'mlflow') return scores.map((score) => mlflowAssessment(url, score, timeMs));
  const requests: ScoreRequest[] = [];
  for (let start = 0; start < scores.length; start += maxScores) {
    const batch = scores.slice(start, start + maxScores);
    const body = tool === 'langfuse' ? langfuseEvents(batch, timeMs) : phoenixAnnotations(batch);
    requests.push({ url, count: batch.length, body });
  }
  return requests;
}

/** An assessment of a trace: MLflow's API takes one in a request, without a dot in its name. */
function mlflowAssessment(url: string, { traceId, name, value }: AttemptScore, timeMs: number): ScoreRequest {
  const id = `tr-${traceId}`;
  const time = new Date(timeMs).toISOString();
  const assessment = {
    assessment_name: name.replaceAll('.', '_'),
    trace_id: id,
    source: { source_type: 'CODE', source_id: 'agentlightning' },
    create_time: time,
    last_update_time: time,
    feedback: { value },
  };
  return { url: `${url}/${id}/assessments`, count: 1, body: { assessment } };
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
