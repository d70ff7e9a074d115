import { type Attempt, NotFoundError, type Span } from '@agentlightning/core';
import {
  findFinalReward,
  modelCallAttributes,
  modelCallFromSpan,
  spanNames,
  trainingFromSpan,
} from '@agentlightning/core/spans';
import type { CallTokens, RolloutDetail, RolloutRow, SpanView, TrainingView } from '../api/rollout-views.ts';
import type { DashboardStore } from './dashboard-store.ts';
import type { RolloutLists } from './rollout-lists.ts';
import { numberIn } from './rollout-row.ts';
import { attemptTrace } from './trace-view.ts';

/** Maximum number of spans of a trace. */
const maxSpans = 20_000;

/** Maximum number of siblings. */
const maxSiblings = 128;

/** Address of a span. */
export interface SpanAddress {
  readonly rolloutId: string;
  readonly attemptId: string;
  readonly spanId: string;
}

/** Reads single rollouts for the dashboard. Every method throws NOT_FOUND for unknown ids. */
export class RolloutReader {
  readonly #store: DashboardStore;
  readonly #lists: RolloutLists;

  constructor(store: DashboardStore, lists: RolloutLists) {
    this.#store = store;
    this.#lists = lists;
  }

  /** A rollout with the trace of an attempt, by default the latest. */
  async detail(rolloutId: string, attemptId: string | null): Promise<RolloutDetail> {
    const rollout = await this.#store.getRollout(rolloutId);
    const { items: attempts } = await this.#store.queryAttempts(rolloutId);
    const attempt = chosenAttempt(attempts, attemptId);
    const spans = attempt === null ? null : await this.#spans(attempt);
    const [row] = await this.#lists.rows([rollout]);
    if (row === undefined) throw new NotFoundError('Rollout', rolloutId);
    return {
      rollout: row,
      input: rollout.input,
      metadata: rollout.metadata,
      resourcesId: rollout.resourcesId,
      attempts,
      attemptId: attempt?.attemptId ?? null,
      ...attemptTrace(spans?.items ?? []),
      training: trainingsOf(spans?.items ?? []),
      rewards: findFinalReward(spans?.items ?? [])?.rewards ?? [],
      siblings: await this.#siblings(row),
      totalSpans: spans?.total ?? 0,
      isTruncated: (spans?.total ?? 0) > maxSpans,
    };
  }

  /** The tokens of a model call. */
  async tokens(address: SpanAddress): Promise<CallTokens> {
    const span = await this.#span(address);
    const call = modelCallFromSpan(span);
    if (call === null) throw new NotFoundError('Captured model call', address.spanId);
    const texts = span.attributes[modelCallAttributes.responseTokens];
    return {
      spanId: span.spanId,
      promptTokenIds: call.promptTokenIds,
      choices: call.choices.map(({ index, responseTokenIds, responseLogprobs, finishReason }) => ({
        index,
        tokenIds: responseTokenIds,
        logprobs: responseLogprobs,
        finishReason,
      })),
      texts: Array.isArray(texts) ? texts.map(String) : null,
      temperature: call.temperature,
      policyVersion: call.policyVersion,
      isTrainable: call.isTrainable,
      untrainableReason: call.untrainableReason,
      training: (await this.#trainings(address)).flatMap(({ step, policy, calls }) =>
        calls.filter(({ sequenceId }) => sequenceId === span.sequenceId).map((each) => ({ ...each, step, policy })),
      ),
    };
  }

  /** A recorded span. */
  async span(address: SpanAddress): Promise<SpanView> {
    const { spanId, name, status, attributes } = await this.#span(address);
    return {
      spanId,
      name,
      status: status.message === null ? status.code : `${status.code}: ${status.message}`,
      attributes,
      requestBody: textOf(attributes[modelCallAttributes.requestBody]),
      responseBody: textOf(attributes[modelCallAttributes.responseBody]),
    };
  }

  async #spans({ rolloutId, attemptId }: Attempt): Promise<{ items: readonly Span[]; total: number }> {
    return await this.#store.querySpans({ rolloutId, attemptId, limit: maxSpans });
  }

  async #trainings({ rolloutId, attemptId }: SpanAddress): Promise<readonly TrainingView[]> {
    return trainingsOf((await this.#store.querySpans({ rolloutId, attemptId, name: spanNames.training })).items);
  }

  async #span({ rolloutId, attemptId, spanId }: SpanAddress): Promise<Span> {
    const { items } = await this.#store.querySpans({ rolloutId, attemptId, spanId, limit: 1 });
    const [span] = items;
    if (span === undefined) throw new NotFoundError('Span', spanId);
    return span;
  }

  async #siblings({ runId, groupId }: RolloutRow): Promise<readonly RolloutRow[]> {
    if (runId === null || groupId === null) return [];
    const { items } = await this.#store.queryRollouts({ runId, metadata: { group_id: groupId }, limit: maxSiblings });
    const ordered = [...items].sort(
      (one, other) => (numberIn(one.metadata, 'sample') ?? 0) - (numberIn(other.metadata, 'sample') ?? 0),
    );
    return await this.#lists.rows(ordered);
  }
}

function trainingsOf(spans: readonly Span[]): readonly TrainingView[] {
  return spans.flatMap((span) => {
    const training = trainingFromSpan(span);
    if (training === null) return [];
    const { step, policy, calls } = training;
    return [{ step, policy, calls }];
  });
}

function chosenAttempt(attempts: readonly Attempt[], attemptId: string | null): Attempt | null {
  if (attemptId === null) {
    return attempts.reduce<Attempt | null>(
      (latest, each) => (latest === null || each.sequenceId > latest.sequenceId ? each : latest),
      null,
    );
  }
  const chosen = attempts.find((attempt) => attempt.attemptId === attemptId);
  if (chosen === undefined) throw new NotFoundError('Attempt', attemptId);
  return chosen;
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
