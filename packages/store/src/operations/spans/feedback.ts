import { createHash } from 'node:crypto';
import { AgentLightningError, NotFoundError, ValidationError } from '@agentlightning/core';
import { feedbackFromSpan, feedbackToSpan } from '@agentlightning/core/internal';
import { assertId } from '@agentlightning/core/protocol';
import { type Feedback, type FeedbackInput, spanNames } from '@agentlightning/core/spans';
import { type FeedbackPage, type FeedbackQuery, isTerminalRolloutStatus, newSpanId } from '@agentlightning/core/store';
import { spanFromRow } from '../../rows/row.ts';
import type { OperationContext } from '../../sql/operation-runner.ts';
import { withContents } from '../records/contents.ts';
import { loadRollout } from '../records/rollout-record.ts';
import { appendSpans } from './append-spans.ts';
import { searchSpans } from './search-spans.ts';

/**
 * Records feedback on the latest attempt of a rollout, once per id.
 *
 * @throws NotFoundError when the rollout, or the one that is worse, does not exist
 * @throws AgentLightningError CONFLICT when the rollout is unfinished
 * @throws ValidationError without a judgement
 */
export async function recordFeedback(context: OperationContext, given: FeedbackInput): Promise<Feedback> {
  const { id = newSpanId(), source = 'api', timeMs = context.nowMs, ...judgement } = given;
  assertId('id', id);
  assertJudges(given);
  const { rolloutId, preferredOver } = given;
  const { rollout, latestAttemptId } = await loadRollout(context, rolloutId);
  if (preferredOver !== undefined) await loadRollout(context, preferredOver);
  if (latestAttemptId === null || !isTerminalRolloutStatus(rollout.status)) throw unfinished(rolloutId, rollout.status);
  // Clocks of clients differ: feedback is never from the future.
  const time = { timeMs: Math.min(timeMs, context.nowMs) };
  const span = feedbackToSpan({ ...judgement, id, source, attemptId: latestAttemptId, ...time }, spanIdOf(id));
  const [recorded] = await appendSpans(context, [span]);
  const feedback = feedbackFromSpan(recorded ?? (await recordedSpan(context, span)));
  if (feedback === null) throw new NotFoundError('Feedback', id);
  return feedback;
}

/** The id of the span of feedback: 16 hex digits, as OpenTelemetry requires. */
function spanIdOf(id: string): string {
  return createHash('sha256').update(id).digest('hex').slice(0, 16);
}

type SpanAddress = Pick<Parameters<typeof feedbackFromSpan>[0], 'rolloutId' | 'attemptId' | 'spanId'>;

async function recordedSpan(context: OperationContext, { rolloutId, attemptId, spanId }: SpanAddress) {
  const rows = await context.db.all('SELECT * FROM spans WHERE rollout_id = ? AND attempt_id = ? AND span_id = ?', [
    rolloutId,
    attemptId,
    spanId,
  ]);
  const [row] = await withContents(context, rows, 'body');
  if (row === undefined) throw new NotFoundError('Span', spanId);
  return spanFromRow(row);
}

const judgements = ['score', 'label', 'correction', 'comment', 'preferredOver'] as const;

function assertJudges(feedback: FeedbackInput): void {
  if (judgements.some((name) => feedback[name] !== undefined)) return;
  throw new ValidationError('Feedback', [{ path: '', message: `must have at least one of ${judgements.join(', ')}` }]);
}

function unfinished(rolloutId: string, status: string): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFLICT',
    message: `Feedback refused: rollout ${rolloutId} is ${status}`,
    remedy: 'Send it when the rollout is finished.',
    details: { rolloutId, status },
  });
}

/** Finds feedback by run or rollout. */
export async function queryFeedback(context: OperationContext, query: FeedbackQuery): Promise<FeedbackPage> {
  const { rolloutId, timeFromMs, ...rest } = query;
  const { items, nextCursor } = await searchSpans(context, {
    ...rest,
    ...(rolloutId === undefined ? {} : { rolloutIdIn: [rolloutId] }),
    ...(timeFromMs === undefined ? {} : { startTimeFromMs: timeFromMs }),
    name: spanNames.annotation,
  });
  return { items: items.map(feedbackFromSpan).filter((feedback) => feedback !== null), nextCursor };
}
