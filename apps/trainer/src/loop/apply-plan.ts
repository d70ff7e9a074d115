import { withReferenceLogprobs } from '@agentlightning/algorithms';
import { AgentLightningError } from '@agentlightning/core';
import type { StepPlan } from '@agentlightning/core/algorithm';
import type {
  BatchResult,
  PendingOperation,
  StepResult,
  TrainableModel,
  TrainingBatch,
} from '@agentlightning/core/training-runtime';

/** What applying a plan needs. */
export interface ApplyPlanOptions {
  readonly model: TrainableModel;
  /** The policy that a KL term compares with: the model as it was at the start. Asked for only when there is one. */
  readonly reference: () => Promise<Pick<TrainableModel, 'logprobs'>>;
  /** How far trainer and sampler may disagree, in nats a token. */
  readonly maxLogprobGap: number;
}

/** What the updates of a step did to the model. */
export interface AppliedPlan {
  readonly trainedTokens: number;
  /** Means over trained tokens, the largest of what ends in `_max`, and the runtime's own numbers. */
  readonly metrics: Readonly<Record<string, number>>;
}

/**
 * Sends a plan to the runtime and publishes the new weights. The batches of the first update are awaited before its
 * optimizer step is sent, since only they are scored under the weights that sampled. All other batches, optimizer steps and
 * publishing are sent without waiting for each other; the runtime executes them in order.
 *
 * @throws AgentLightningError TOKEN_MISALIGNMENT when trainer and sampler disagree; no optimizer step was taken
 * @throws AgentLightningError of the first operation that failed; no step was then taken on its gradients
 */
export async function applyPlan(plan: StepPlan, options: ApplyPlanOptions): Promise<AppliedPlan> {
  if (plan.updates.length === 0) return { trainedTokens: 0, metrics: {} };
  const { model } = options;
  const batches: Promise<BatchResult>[] = [];
  const steps: Promise<StepResult>[] = [];
  for (const update of plan.updates) {
    const isCompared = (update.loss.parameters['kl_coefficient'] ?? 0) > 0;
    for (const batch of update.batches) {
      const complete = isCompared ? await withReference(batch, options) : batch;
      batches.push(observed(await model.forwardBackward(complete, update.loss)));
    }
    if (steps.length === 0) assertAligned(await Promise.all(batches), options.maxLogprobGap);
    steps.push(observed(await model.optimStep(update.optimizer)));
  }
  const published = observed(await model.publishWeights());
  const batchResults = await Promise.all(batches);
  const stepResults = await Promise.all(steps);
  const endpoint = await published;
  return {
    trainedTokens: batchResults.reduce((sum, { trainedTokens }) => sum + trainedTokens, 0),
    metrics: {
      ...together(batchResults),
      'optim/gradient_norm': mean(stepResults.map(({ gradientNorm }) => gradientNorm)),
      'optim/learning_rate': mean(plan.updates.map(({ optimizer }) => optimizer.learningRate)),
      'optim/skipped': stepResults.filter(({ isSkipped }) => isSkipped).length,
      'policy/version': endpoint.policyVersion,
    },
  };
}

/**
 * Compares the trainer's log-probabilities of the sampled tokens with the sampler's, as the mean over the tokens of the first
 * update. A shift by one token, a wrong temperature or another chat template shows here, long before it shows in a reward
 * that does not rise.
 */
function assertAligned(first: readonly BatchResult[], maxLogprobGap: number): void {
  const gap = together(first)['policy/logprob_gap'] ?? 0;
  if (gap <= maxLogprobGap) return;
  throw new AgentLightningError({
    code: 'TOKEN_MISALIGNMENT',
    message: `trainer and sampler disagree on the log-probability of sampled tokens by ${gap.toFixed(3)} on average, above ${maxLogprobGap}`,
    remedy:
      'Let the agent sample from all tokens: `top_p` (the option `sampling: { topP: 1 }` overrides it), `top_k`, `min_p`, penalties, `logit_bias` and structured output give it other probabilities than the model. If it asks for none of them, the engine and the runtime differ in weights or chat template. Where the gap is meant, raise `maxLogprobGap`.',
    details: { gap, maxLogprobGap },
  });
}

async function withReference(batch: TrainingBatch, { reference }: ApplyPlanOptions): Promise<TrainingBatch> {
  const model = await reference();
  return withReferenceLogprobs(batch, await model.logprobs(batch));
}

/** A result that is awaited later: until then a failure must not count as unhandled. */
function observed<TResult>(operation: PendingOperation<TResult>): Promise<TResult> {
  operation.result.catch(() => undefined);
  return operation.result;
}

/** What the passes of a step found, together. A metric that only some of them have is of those. */
function together(results: readonly BatchResult[]): Record<string, number> {
  const names = new Set(results.flatMap(({ metrics }) => Object.keys(metrics)));
  const found = [...names].map((name) => {
    const parts = results.flatMap(({ metrics, trainedTokens }) => {
      const value = metrics[name];
      return value === undefined ? [] : [{ value, trainedTokens }];
    });
    if (name.endsWith('_max')) return [name, Math.max(...parts.map(({ value }) => value))] as const;
    const tokens = parts.reduce((sum, part) => sum + part.trainedTokens, 0);
    const total = parts.reduce((sum, { value, trainedTokens }) => sum + value * trainedTokens, 0);
    return [name, tokens === 0 ? 0 : total / tokens] as const;
  });
  return { ...Object.fromEntries(found), 'policy/loss': results.reduce((sum, { loss }) => sum + loss, 0) };
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
