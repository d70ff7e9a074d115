import { type Attempt, type JsonObject, NotFoundError, type Span } from '@agentlightning/core';
import { findReview, findScoredOutput, modelCallAttributes, trainingFromSpan } from '@agentlightning/core/internal';
import {
  costOfCalls,
  hasAttempt,
  type Prices,
  pricesOf,
  recordedFailure,
  usageOfSpans,
} from '@agentlightning/core/protocol';
import { findFinalReward, modelCallFromSpan, spanNames } from '@agentlightning/core/spans';
import type { FoundRollout } from '@agentlightning/core/store';
import type {
  CallTokens,
  RolloutDetail,
  RolloutPage,
  RolloutRow,
  SpanView,
  TrainingView,
} from '../api/rollout-views.ts';
import type { DashboardStore } from './dashboard-store.ts';
import { previewOf } from './preview.ts';
import { type RolloutFilter, rolloutSearch } from './rollout-query.ts';
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

/** Reads rollouts for the dashboard. Every method throws NOT_FOUND for unknown ids. */
export class RolloutReader {
  readonly #store: DashboardStore;

  constructor(store: DashboardStore) {
    this.#store = store;
  }

  /** One page of rollouts. Pages do not overlap when rollouts are added meanwhile. */
  async page(filter: RolloutFilter): Promise<RolloutPage> {
    const { items, ...rest } = await this.#store.searchRollouts(rolloutSearch(filter));
    return { ...rest, items: items.map(rolloutRow) };
  }

  /** A rollout with the trace of an attempt, by default the latest. */
  async detail(rolloutId: string, attemptId: string | null): Promise<RolloutDetail> {
    const [found] = (await this.#store.searchRollouts({ rolloutIdIn: [rolloutId], limit: 1 })).items;
    if (found === undefined) throw new NotFoundError('Rollout', rolloutId);
    const { rollout } = found;
    const row = rolloutRow(found);
    const { items: attempts } = await this.#store.queryAttempts(rolloutId);
    const attempt = chosenAttempt(attempts, attemptId);
    const spans = attempt === null ? null : await this.#spans(attempt);
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
      scored: findScoredOutput(spans?.items ?? []),
      review: findReview(spans?.items ?? []),
      siblings: await this.#siblings(row),
      cost: costOfCalls(usageOfSpans(spans?.items ?? []), await this.#prices(row)),
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
      choices: call.choices.map(
        ({ index, responseTokenIds, responseLogprobs, responsePolicyVersions, finishReason }) => ({
          index,
          tokenIds: responseTokenIds,
          logprobs: responseLogprobs,
          policyVersions: responsePolicyVersions ?? null,
          finishReason,
        }),
      ),
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

  async #prices({ runId }: RolloutRow): Promise<Prices | null> {
    return runId === null ? null : pricesOf(await this.#store.getRun(runId));
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
    const { items } = await this.#store.searchRollouts({
      runId,
      metadata: { group_id: groupId },
      sortOrder: 'asc',
      limit: maxSiblings,
    });
    const sampleOf = ({ rollout }: FoundRollout): number => numberIn(rollout.metadata, 'sample') ?? 0;
    return items.toSorted((one, other) => sampleOf(one) - sampleOf(other)).map(rolloutRow);
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

/** A rollout as a row of a list. */
function rolloutRow({ rollout, reward, label }: FoundRollout): RolloutRow {
  const { rolloutId, runId, status, mode, metadata, startTimeMs, endTimeMs } = rollout;
  const attempt = hasAttempt(rollout) ? rollout.attempt : null;
  return {
    rolloutId,
    runId,
    status,
    mode,
    step: numberIn(metadata, 'step'),
    taskIndex: numberIn(metadata, 'task_index'),
    groupId: textIn(metadata, 'group_id'),
    startTimeMs,
    endTimeMs,
    attempts: attempt?.sequenceId ?? 0,
    workerId: attempt?.workerId ?? null,
    reward,
    label,
    failure: attempt === null ? null : recordedFailure(attempt),
    preview: previewOf(rollout.input),
  };
}

/** A number of a rollout's metadata; null for other values. */
function numberIn(metadata: JsonObject | null, name: string): number | null {
  const value = metadata?.[name];
  return typeof value === 'number' ? value : null;
}

function textIn(metadata: JsonObject | null, name: string): string | null {
  const value = metadata?.[name];
  return typeof value === 'string' ? value : null;
}
