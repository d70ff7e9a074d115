import type { Span } from '@agentlightning/core';
import { usageOfSpans } from '@agentlightning/core/protocol';
import type { ModelUsage } from '@agentlightning/core/store';
import type { OperationContext } from '../../sql/operation-runner.ts';
import { readInteger, readText } from '../../sql/row-value.ts';
import type { SqlRow } from '../../sql/sql-driver.ts';

/** A span that may record a model call. */
type MeasuredSpan = Pick<Span, 'rolloutId' | 'name' | 'attributes'>;

/** Adds the token usage of new spans to that of their rollouts, so that statistics read no spans. */
export async function recordUsage({ db }: OperationContext, spans: readonly MeasuredSpan[]): Promise<void> {
  for (const [rolloutId, ofRollout] of Map.groupBy(spans, (span) => span.rolloutId)) {
    for (const { model, isPolicy, calls, inputTokens, cachedInputTokens, outputTokens } of usageOfSpans(ofRollout)) {
      await db.run(
        `INSERT INTO model_usage (rollout_id, model, is_policy, calls, input_tokens, cached_input_tokens, output_tokens)
         VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (rollout_id, model, is_policy) DO UPDATE SET
           calls = model_usage.calls + excluded.calls,
           input_tokens = model_usage.input_tokens + excluded.input_tokens,
           cached_input_tokens = model_usage.cached_input_tokens + excluded.cached_input_tokens,
           output_tokens = model_usage.output_tokens + excluded.output_tokens`,
        [rolloutId, model, isPolicy ? 1 : 0, calls, inputTokens, cachedInputTokens, outputTokens],
      );
    }
  }
}

/** The token usage of a run by model. */
export async function usageOfRun({ db }: OperationContext, runId: string): Promise<readonly ModelUsage[]> {
  const rows = await db.all(
    `SELECT u.model, u.is_policy, sum(u.calls) AS calls, sum(u.input_tokens) AS input_tokens,
       sum(u.cached_input_tokens) AS cached_input_tokens, sum(u.output_tokens) AS output_tokens
     FROM rollouts AS r JOIN model_usage AS u ON u.rollout_id = r.rollout_id
     WHERE r.run_id = ? GROUP BY u.model, u.is_policy ORDER BY u.model, u.is_policy`,
    [runId],
  );
  return rows.map(usageFromRow);
}

function usageFromRow(row: SqlRow): ModelUsage {
  return {
    model: readText(row, 'model'),
    isPolicy: readInteger(row, 'is_policy') === 1,
    calls: readInteger(row, 'calls'),
    inputTokens: readInteger(row, 'input_tokens'),
    cachedInputTokens: readInteger(row, 'cached_input_tokens'),
    outputTokens: readInteger(row, 'output_tokens'),
  };
}
