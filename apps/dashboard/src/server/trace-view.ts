import { createHash } from 'node:crypto';
import type { Reward, Span } from '@agentlightning/core';
import { linksFromSpan } from '@agentlightning/core/internal';
import { findRewards, joinModelCalls, rewardFromSpan, spanNames } from '@agentlightning/core/spans';
import { type TraceMessage, type TraceStep, traceSteps, walkSteps } from '@agentlightning/trace';
import type { ConversationTurn, TraceNode } from '../api/rollout-views.ts';

/** The trace of an attempt and its conversations. */
export interface AttemptTrace {
  readonly trace: readonly TraceNode[];
  readonly turns: readonly ConversationTurn[];
}

/** Reads the trace of an attempt from its spans. */
export function attemptTrace(spans: readonly Span[]): AttemptTrace {
  const walked = walkSteps(traceSteps(spans));
  const capturedBy = new Map(
    joinModelCalls(spans).flatMap(({ captured, step }) =>
      captured === null || step === null ? [] : [[step.spanId, captured] as const],
    ),
  );
  const calls = walked
    .map(({ step }) => step)
    .filter(({ kind }) => kind === 'model-call')
    .sort((one, other) => one.sequenceId - other.sequenceId);
  const turns = conversationTurns(calls).map((turn) => {
    const { spanId, sequenceId } = capturedBy.get(turn.spanId) ?? turn;
    const continues = turn.continues === null ? null : (capturedBy.get(turn.continues)?.spanId ?? turn.continues);
    return { ...turn, spanId, sequenceId, continues };
  });
  const rewards = turnRewards(
    spans,
    turns.map(({ sequenceId }) => sequenceId),
  );
  return {
    trace: walked.map(({ step, depth }) => traceNode(step, depth)),
    turns: turns.map((turn) => ({ ...turn, rewards: rewards.get(turn.sequenceId) ?? [] })),
  };
}

function traceNode(step: TraceStep, depth: number): TraceNode {
  const { spanId, sequenceId, kind, title, requestedModel, agentPath, startTimeMs, endTimeMs, outcome } = step;
  const { error, stackTrace, toolArguments, toolResult, tokens, rewards } = step;
  return {
    spanId,
    depth,
    sequenceId,
    kind,
    title,
    requestedModel,
    agentPath,
    startTimeMs,
    endTimeMs,
    outcome,
    error,
    stackTrace,
    toolArguments,
    toolResult,
    tokens,
    rewards,
  };
}

/** Each call without the messages of the latest earlier call whose messages it repeats. */
function conversationTurns(calls: readonly TraceStep[]): readonly Omit<ConversationTurn, 'rewards'>[] {
  const earlier = new Map<string, { readonly spanId: string; readonly length: number }>();
  return calls.map((call) => {
    const digests = prefixKeys(call.inputMessages);
    const known = digests.findLast((digest) => earlier.has(digest));
    const continued = known === undefined ? null : (earlier.get(known) ?? null);
    const full = digests.at(-1);
    if (full !== undefined) earlier.set(full, { spanId: call.spanId, length: digests.length });
    return {
      spanId: call.spanId,
      sequenceId: call.sequenceId,
      model: call.title,
      requestedModel: call.requestedModel,
      agentPath: call.agentPath,
      knownMessages: continued?.length ?? 0,
      continues: continued?.spanId ?? null,
      inputMessages: call.inputMessages.slice(continued?.length ?? 0),
      outputMessages: call.outputMessages,
      tokens: call.tokens,
      error: call.error,
    };
  });
}

/** For each length, a key of that many first messages. */
function prefixKeys(messages: readonly TraceMessage[]): readonly string[] {
  const hash = createHash('sha256');
  return messages.map((message) => hash.update(JSON.stringify(message)).copy().digest('base64'));
}

/**
 * The rewards of an attempt by model call: those that the agent emitted after the call and before the next one, without the
 * final reward, and those that rules gave to the steps of its turn.
 *
 * @param callSequences - the sequence ids of the model calls
 * @returns the rewards by the sequence id of the call
 */
function turnRewards(spans: readonly Span[], callSequences: readonly number[]): ReadonlyMap<number, readonly Reward[]> {
  const ordered = [...callSequences].sort((one, other) => one - other);
  const byCall = new Map<number, Reward[]>();
  const add = (sequenceId: number, rewards: readonly Reward[]): void => {
    const call = ordered.findLast((each) => each <= sequenceId);
    if (call !== undefined) byCall.set(call, [...(byCall.get(call) ?? []), ...rewards]);
  };
  for (const { sequenceId, rewards } of findRewards(spans).slice(0, -1)) add(sequenceId, rewards);
  const sequences = new Map(spans.map(({ spanId, sequenceId }) => [spanId, sequenceId]));
  for (const span of spans) {
    if (span.name !== spanNames.intermediateReward) continue;
    const judged = linksFromSpan(span)['span_id'];
    const sequenceId = typeof judged === 'string' ? sequences.get(judged) : undefined;
    // The span has the attributes of a reward, under a name that keeps it from being one of the attempt.
    const rewards = rewardFromSpan({ ...span, name: spanNames.annotation })?.rewards ?? [];
    if (sequenceId !== undefined) add(sequenceId, rewards);
  }
  return byCall;
}
