import { splitByTokens } from '@agentlightning/algorithms';
import type { ScoringPolicy, ScoringRequest, SequenceScores } from '@agentlightning/core/algorithm';
import type { TrainableModel, TrainingBatch, TrainingDatum } from '@agentlightning/core/training-runtime';

/** The models that score sequences. */
export interface ScoringModels {
  readonly model: TrainableModel;
  /** The initial model of the run. */
  readonly reference: () => Promise<Pick<TrainableModel, 'logprobs'>>;
  /** Limit for the tokens of a batch. */
  readonly maxBatchTokens: number;
}

/** Requests the log-probabilities and values that an algorithm needs to plan a step. */
export async function scoreSequences(request: ScoringRequest, models: ScoringModels): Promise<SequenceScores> {
  const scores: Partial<Record<ScoringPolicy, readonly Float32Array[]>> = {};
  for (const policy of request.policies) {
    scores[policy] = await scoresOf(await scorerOf(policy, models), request.data, models.maxBatchTokens);
  }
  return scores;
}

type Scorer = (batch: TrainingBatch) => Promise<readonly Float32Array[]>;

async function scorerOf(policy: ScoringPolicy, { model, reference }: ScoringModels): Promise<Scorer> {
  switch (policy) {
    case 'current':
      return (batch) => model.logprobs(batch);
    case 'critic':
      return (batch) => model.values(batch);
    case 'reference': {
      const initial = await reference();
      return (batch) => initial.logprobs(batch);
    }
  }
}

/** Scores sequences in batches of similar length. The scores are in the order of `data`. */
async function scoresOf(
  score: Scorer,
  data: readonly TrainingDatum[],
  maxBatchTokens: number,
): Promise<readonly Float32Array[]> {
  const byDatum = new Map<TrainingDatum, Float32Array>();
  for (const batch of splitByTokens(data, maxBatchTokens)) {
    const scored = await score(batch);
    for (const [index, datum] of batch.data.entries()) byDatum.set(datum, scored[index] ?? new Float32Array());
  }
  return data.map((datum) => byDatum.get(datum) ?? new Float32Array());
}
