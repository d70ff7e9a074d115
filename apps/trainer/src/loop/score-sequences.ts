import { splitByTokens } from '@agentlightning/algorithms';
import type {
  ScoringPolicy,
  ScoringRequest,
  SequenceScores,
  TrainableModel,
  TrainingDatum,
} from '@agentlightning/core';

/** Who can be asked for log-probabilities. */
export interface ScoringModels {
  readonly model: TrainableModel;
  /** The model as the run began with it; made when it is first asked for. */
  readonly reference: () => Promise<TrainableModel>;
  /** Most tokens of one batch. */
  readonly maxBatchTokens: number;
}

/** Asks the runtime for the log-probabilities that an algorithm needs to plan a step. */
export async function scoreSequences(request: ScoringRequest, models: ScoringModels): Promise<SequenceScores> {
  const scores: Partial<Record<ScoringPolicy, readonly Float32Array[]>> = {};
  for (const policy of request.policies) {
    const model = policy === 'current' ? models.model : await models.reference();
    scores[policy] = await scoresOf(model, request.data, models.maxBatchTokens);
  }
  return scores;
}

/** Batches come by length; the scores go back to where their sequences were. */
async function scoresOf(
  model: TrainableModel,
  data: readonly TrainingDatum[],
  maxBatchTokens: number,
): Promise<readonly Float32Array[]> {
  const byDatum = new Map<TrainingDatum, Float32Array>();
  for (const batch of splitByTokens(data, maxBatchTokens)) {
    const scored = await model.logprobs(batch);
    for (const [index, datum] of batch.data.entries()) byDatum.set(datum, scored[index] ?? new Float32Array());
  }
  return data.map((datum) => byDatum.get(datum) ?? new Float32Array());
}
