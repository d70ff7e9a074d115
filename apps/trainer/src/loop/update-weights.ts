import { withReferenceLogprobs } from '@agentlightning/algorithms/internal';
import { AgentLightningError } from '@agentlightning/core';
import type { ModelUpdate, StepPlan } from '@agentlightning/core/algorithm';
import { systemClock, traceActivity } from '@agentlightning/core/internal';
import { runMetrics } from '@agentlightning/core/metrics';
import type { PublicationRecord } from '@agentlightning/core/protocol';
import type {
  BatchResult,
  PendingOperation,
  StepResult,
  TrainableModel,
  TrainingBatch,
} from '@agentlightning/core/training-runtime';
import { mean } from '../events/mean.ts';
import { publicationOf } from '../run/publication.ts';

/** The plan of a policy's step, and the models that it needs. */
export interface PolicyPlan {
  readonly plan: StepPlan;
  /** Of the weights before the step. */
  readonly policyVersion: number;
  readonly model: TrainableModel;
  /** Returns the reference policy of a KL term: the initial model. Called only for losses with a KL term. */
  readonly reference: () => Promise<Pick<TrainableModel, 'logprobs'>>;
}

/** Settings shared by the plans of all policies. */
export interface UpdateWeightsOptions {
  /** Limit for the difference of log-probabilities between trainer and sampler, in nats per token. */
  readonly maxLogprobGap: number;
  /** Runs the publication while no new model call starts, so that each call has one policy version. */
  readonly pauseCalls: <TResult>(publish: () => Promise<TResult>) => Promise<TResult>;
}

/** The result of the updates of a step. */
export interface UpdateResult {
  readonly trainedTokens: number;
  /** Means over trained tokens; maxima for names that end in `_max`; the runtime's own metrics. */
  readonly metrics: Readonly<Record<string, number>>;
  /** The publication of the new weights; null when there was no update. */
  readonly publication: Omit<PublicationRecord, 'step' | 'policy'> | null;
}

/**
 * Sends the plans of a step to the runtime and publishes the new weights; the policies concurrently, because their models are
 * independent. The batches of each first update are awaited before any optimizer step is sent, because only they are scored
 * under the weights that sampled. All other batches and optimizer steps are sent without waiting for each other; the runtime
 * executes them in order. The weights are published after them.
 *
 * @returns the plans in their order, each with its result
 * @throws AgentLightningError TOKEN_MISALIGNMENT when trainer and sampler of a policy disagree; no policy then took a step
 * @throws AgentLightningError WEIGHT_MISMATCH when the runtime finds that its endpoint does not serve the new weights
 * @throws AgentLightningError of the first operation that failed; no step was then taken on its gradients
 */
export async function updateWeights<TPlan extends PolicyPlan>(
  plans: readonly TPlan[],
  { maxLogprobGap, pauseCalls }: UpdateWeightsOptions,
): Promise<readonly (TPlan & { readonly result: UpdateResult })[]> {
  const scored = await Promise.all(
    plans.map(async (plan) => ({ plan, first: await sendFirstUpdate(plan, maxLogprobGap) })),
  );
  return await Promise.all(
    scored.map(async ({ plan, first }) => ({ ...plan, result: await updateModel(plan, first, pauseCalls) })),
  );
}

/** The results of the first update of a step. */
interface FirstUpdate {
  readonly results: readonly BatchResult[];
  /** Mean difference between trainer and sampler over the tokens of the current weights; null without such tokens. */
  readonly currentGap: number | null;
}

/** Sends the batches of the first update and compares their log-probabilities with the sampler's. */
async function sendFirstUpdate(policy: PolicyPlan, maxLogprobGap: number): Promise<FirstUpdate> {
  const { plan, policyVersion } = policy;
  const [update] = plan.updates;
  if (update === undefined) return { results: [], currentGap: null };
  const batches = update.batches.flatMap((batch) => splitByAge(batch, policyVersion));
  const results = await Promise.all(
    await sendBatches(policy, { ...update, batches: batches.map(({ batch }) => batch) }),
  );
  const current = results.filter((_, index) => batches[index]?.isCurrent === true);
  // With a sampler correction, batches have the trainer's log-probabilities instead of the sampler's.
  const known = plan.metrics[runMetrics.samplerCurrentLogprobGap.name] ?? null;
  const measured = current.length === 0 ? null : (aggregate(current)[runMetrics.policyLogprobGap.name] ?? null);
  const isCorrected = plan.metrics[runMetrics.samplerLogprobGap.name] !== undefined;
  const currentGap = isCorrected ? known : measured;
  assertAligned(currentGap ?? 0, maxLogprobGap);
  return { results, currentGap };
}

/** Separates the sequences of the current weights from older ones, whose log-probabilities differ for that reason. */
function splitByAge(
  batch: TrainingBatch,
  policyVersion: number,
): readonly { readonly batch: TrainingBatch; readonly isCurrent: boolean }[] {
  return [true, false].flatMap((isCurrent) => {
    const data = batch.data.filter(({ minPolicyVersion }) => minPolicyVersion >= policyVersion === isCurrent);
    return data.length === 0 ? [] : [{ batch: { ...batch, data }, isCurrent }];
  });
}

async function updateModel(
  policy: PolicyPlan,
  { results: first, currentGap }: FirstUpdate,
  pauseCalls: UpdateWeightsOptions['pauseCalls'],
): Promise<UpdateResult> {
  const { plan, model } = policy;
  if (plan.updates.length === 0) return { trainedTokens: 0, metrics: {}, publication: null };
  const probe = probeOf(plan.updates);
  const unchanged = await model.logprobs(probe);
  const batches: Promise<BatchResult>[] = [];
  const steps: Promise<StepResult>[] = [];
  for (const [index, update] of plan.updates.entries()) {
    if (index > 0) batches.push(...(await sendBatches(policy, update)));
    steps.push(observed(await model.optimStep(update.optimizer)));
  }
  const batchResults = [...first, ...(await Promise.all(batches))];
  const stepResults = await Promise.all(steps);
  const change = meanDifference(unchanged, await model.logprobs(probe));
  const startMs = systemClock.now();
  const endpoint = await traceActivity('train.publish', {}, () =>
    pauseCalls(async () => await (await model.publishWeights()).result),
  );
  const publication = publicationOf(endpoint, { startMs, endMs: systemClock.now() });
  return {
    trainedTokens: batchResults.reduce((sum, { trainedTokens }) => sum + trainedTokens, 0),
    metrics: {
      ...aggregate(batchResults),
      ...(currentGap === null ? {} : { [runMetrics.samplerCurrentLogprobGap.name]: currentGap }),
      [runMetrics.policyUpdateChange.name]: change,
      ...gradientNormOf(stepResults),
      [runMetrics.learningRate.name]: mean(plan.updates.map(({ optimizer }) => optimizer.learningRate)) ?? 0,
      [runMetrics.optimSkipped.name]: stepResults.filter(({ isSkipped }) => isSkipped).length,
      [runMetrics.policyVersion.name]: endpoint.policyVersion,
      ...probeMetrics(publication),
    },
    publication,
  };
}

/** The mean norm of the gradients, where the runtime measures it. */
function gradientNormOf(steps: readonly StepResult[]): Record<string, number> {
  const norm = mean(steps.flatMap(({ gradientNorm }) => gradientNorm ?? []));
  return norm === null ? {} : { [runMetrics.gradientNorm.name]: norm };
}

/** The comparison of sampler and trainer after the publication, where the runtime reports one. */
function probeMetrics({ probe }: Pick<PublicationRecord, 'probe'>): Record<string, number> {
  return probe === null
    ? {}
    : { [runMetrics.policyPublishGap.name]: probe.gap, [runMetrics.policyPublishGapLimit.name]: probe.limit };
}

/** Number of sequences that measure how far a step moves the policy. */
const probedSequences = 4;

/** The first sequences of a step. */
function probeOf([first]: readonly ModelUpdate[]): TrainingBatch {
  return { data: (first?.batches ?? []).flatMap(({ data }) => data).slice(0, probedSequences) };
}

/** Mean `|Δlogp|` of the tokens of scored sequences, in nats. */
function meanDifference(before: readonly Float32Array[], after: readonly Float32Array[]): number {
  const differences = before.flatMap((scores, index) =>
    Array.from(scores, (score, token) => Math.abs((after[index]?.[token] ?? score) - score)),
  );
  return mean(differences) ?? 0;
}

/** Sends the batches of an update, each with the reference's log-probabilities when its loss has a KL term. */
async function sendBatches(
  { model, reference }: PolicyPlan,
  { batches, loss }: ModelUpdate,
): Promise<readonly Promise<BatchResult>[]> {
  const isCompared = (loss.parameters['kl_coefficient'] ?? 0) > 0;
  const sent: Promise<BatchResult>[] = [];
  for (const batch of batches) {
    const complete = isCompared ? await withReference(batch, reference) : batch;
    sent.push(observed(await model.forwardBackward(complete, loss)));
  }
  return sent;
}

/**
 * Compares the trainer's log-probabilities of the sampled tokens with the sampler's, as the mean over the tokens of the
 * current weights in the first update. This detects a shift by one token, a wrong temperature and a different chat template before the optimizer step.
 */
function assertAligned(gap: number, maxLogprobGap: number): void {
  if (gap <= maxLogprobGap) return;
  throw new AgentLightningError({
    code: 'TOKEN_MISALIGNMENT',
    message: `trainer and sampler disagree on the log-probability of sampled tokens by ${gap.toFixed(3)} on average, above ${maxLogprobGap}`,
    remedy:
      'Let the agent sample from all tokens: `top_p` (the option `sampling: { topP: 1 }` overrides it), `top_k`, `min_p`, penalties, `logit_bias` and structured output change its probabilities. If it uses none of them, the engine and the runtime differ in weights or chat template. If the gap is intended, raise `maxLogprobGap`.',
    details: { gap, maxLogprobGap },
  });
}

async function withReference(batch: TrainingBatch, reference: PolicyPlan['reference']): Promise<TrainingBatch> {
  const model = await reference();
  return withReferenceLogprobs(batch, await model.logprobs(batch));
}

/** Marks the rejections of a result that is awaited later as handled. */
function observed<TResult>(operation: PendingOperation<TResult>): Promise<TResult> {
  operation.result.catch(() => undefined);
  return operation.result;
}

/** Aggregates the metrics of batches. The mean of a metric covers the batches that report it. */
function aggregate(results: readonly BatchResult[]): Record<string, number> {
  const names = new Set(results.flatMap(({ metrics }) => Object.keys(metrics)));
  const aggregated = [...names].map((name) => {
    const parts = results.flatMap(({ metrics, trainedTokens }) => {
      const value = metrics[name];
      return value === undefined ? [] : [{ value, trainedTokens }];
    });
    if (name.endsWith('_max')) return [name, Math.max(...parts.map(({ value }) => value))] as const;
    const tokens = parts.reduce((sum, part) => sum + part.trainedTokens, 0);
    const total = parts.reduce((sum, { value, trainedTokens }) => sum + value * trainedTokens, 0);
    return [name, tokens === 0 ? 0 : total / tokens] as const;
  });
  return {
    ...Object.fromEntries(aggregated),
    [runMetrics.policyLoss.name]: results.reduce((sum, { loss }) => sum + loss, 0),
  };
}
