import {
  AgentLightningError,
  emitReward,
  type RewardValue,
  type Span,
  tracer,
  withRollout,
} from '@agentlightning/core';
import { AttemptSpans, findFinalReward, spanNames } from '@agentlightning/core/spans';
import { type NamedResources, newId, newTraceId } from '@agentlightning/core/store';
import { finalCalls } from './final-calls.ts';
import type { TraceMessage } from './trace-step.ts';
import { traceSteps } from './trace-steps.ts';
import { walkSteps } from './walk-steps.ts';

/** The second argument of an agent that runs in {@link traceOnce}: that of a training run, without resources. */
export interface TraceOnceContext {
  /** Id of the rollout. */
  readonly rolloutId: string;
  /** Id of the attempt. */
  readonly attemptId: string;
  /** Number of the attempt, from 1. */
  readonly attemptNumber: number;
  /** Always `test`: nothing is trained. */
  readonly mode: 'test';
  /** Always null. */
  readonly metadata: null;
  /** The resources by name. */
  readonly resources: NamedResources;
  /** None: the agent calls the model that it is configured with. */
  readonly endpoint: null;
  /** Always null. */
  readonly attemptToken: null;
  /** The signal of the options. */
  readonly signal: AbortSignal;
}

/** An agent that {@link traceOnce} runs: the function that a trainer trains. */
export type TracedAgent<TTask> = (task: TTask, context: TraceOnceContext) => unknown;

/** Options of {@link traceOnce}. */
export interface TraceOnceOptions {
  /** Ends the trace; the agent should stop. Steps that are still open then are marked as abandoned. @default never */
  readonly signal?: AbortSignal;
  /** Whether the agent returns its reward; otherwise its output, which is not scored. @default true */
  readonly returnsReward?: boolean;
}

/** The trace of an agent on one task. */
export interface AgentTrace {
  /** In the order of their ends. */
  readonly spans: readonly Span[];
  /** The primary value of the last reward; null without one. */
  readonly reward: number | null;
  /** The messages of the last conversation: the request and the response of a model call that no later call continues. */
  readonly conversation: readonly TraceMessage[];
  /** The error of the agent, or the reason of the signal; null when the agent succeeded. */
  readonly error: unknown;
}

/**
 * Runs an agent on one task and returns its trace, without a store or a server. The agent calls the model that it is configured with;
 * its adapter records the calls. Token ids are captured in training only.
 *
 * Errors of the agent are part of the result.
 *
 * @param agent - the agent, which uses an adapter
 * @param task - its first argument
 *
 * @example
 * ```ts
 * const { spans, reward, conversation } = await traceOnce(agent, { question: 'How many bolts?' });
 * console.log(traceText(traceSteps(spans)), reward, conversation.at(-1));
 * ```
 */
export async function traceOnce<TTask>(
  agent: TracedAgent<TTask>,
  task: TTask,
  { signal = new AbortController().signal, returnsReward = true }: TraceOnceOptions = {},
): Promise<AgentTrace> {
  const spans: Span[] = [];
  const sink = new AttemptSpans({
    append: (span) => void spans.push({ ...span, sequenceId: span.sequenceId ?? spans.length + 1 }),
    flush: () => Promise.resolve(),
  });
  const ids = {
    rolloutId: newId('rollout'),
    attemptId: newId('attempt'),
    mode: 'test',
    endpoint: null,
    signal,
  } as const;
  const context = { ...ids, traceId: newTraceId(), parentSpanId: null, agentName: null, sink };
  const act = async (): Promise<void> => {
    signal.throwIfAborted();
    const result = await agent(task, { ...ids, attemptNumber: 1, metadata: null, resources: {}, attemptToken: null });
    // It is validated at runtime.
    if (returnsReward && result !== undefined && result !== null) emitReward(result as RewardValue);
  };
  let error: unknown = null;
  try {
    const work = withRollout(context, () => tracer.withSpan(spanNames.rollout, act));
    await Promise.race([work, rejectionOf(signal)]);
  } catch (thrown) {
    error = thrown ?? new AgentLightningError({ code: 'AGENT_FAILED', message: `The agent threw ${thrown}.` });
  }
  sink.close();
  const reward = findFinalReward(spans)?.rewards[0]?.value ?? null;
  return { spans, reward, conversation: lastConversation(spans), error };
}

function rejectionOf(signal: AbortSignal): Promise<never> {
  const rejection = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
  // It may be rejected when nothing awaits it any longer.
  rejection.catch(() => {});
  return rejection;
}

function lastConversation(spans: readonly Span[]): readonly TraceMessage[] {
  const calls = walkSteps(traceSteps(spans))
    .map(({ step }) => step)
    .filter(({ kind }) => kind === 'model-call')
    .sort((one, other) => one.sequenceId - other.sequenceId);
  const last = finalCalls(calls).at(-1);
  return last === undefined ? [] : [...last.inputMessages, ...last.outputMessages];
}
