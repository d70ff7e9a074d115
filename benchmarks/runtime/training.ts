import type { TrainingBatch, TrainingDatum } from '@agentlightning/core/training-runtime';
import type { RuntimeModel } from '@agentlightning/runtime';

/** What is trained on and sampled, the same on every side. */
export interface Work {
  /** Sequences of a batch. */
  readonly rows: number;
  /** Tokens of a sequence; the first {@link promptTokens} are not trained. */
  readonly rowTokens: number;
  readonly promptTokens: number;
  /** Answers that are asked for at the same time, and how long they may be. */
  readonly answers: number;
  readonly answerTokens: number;
  /** How many of the answers are to one prompt, asked for in one call. */
  readonly group: number;
  /** Of sampling: the higher, the longer are the answers of a small model that likes to end. */
  readonly temperature: number;
}

/** Seconds of a step: the batch goes over the wire, its gradients are computed, Adam uses them. */
export async function secondsOfStep(model: RuntimeModel, work: Work): Promise<number> {
  const batch = batchOf(work);
  const began = performance.now();
  const [pass, step] = [
    await model.forwardBackward(batch, { name: 'importance_sampling', parameters: {} }),
    await model.optimStep({ learningRate: 1e-6 }),
  ];
  await Promise.all([pass.result, step.result]);
  return (performance.now() - began) / 1000;
}

function batchOf(work: Work): TrainingBatch {
  return { data: Array.from({ length: work.rows }, (_, row) => datumOf(row, work)) };
}

function datumOf(row: number, { rowTokens, promptTokens }: Work): TrainingDatum {
  const count = rowTokens - promptTokens;
  return {
    // Readable bytes, as conversations are.
    tokenIds: Int32Array.from({ length: rowTokens }, (_, at) => 32 + ((at * 37 + row * 53) % 90)),
    trained: [{ start: promptTokens, end: rowTokens }],
    samplingLogprobs: new Float32Array(count).fill(-3),
    advantages: new Float32Array(count).fill(row % 2 === 0 ? 1 : -1),
    weights: new Float32Array(count).fill(1 / count),
    temperature: 1,
    rolloutId: `ro-${row}`,
    groupId: 'gr',
    minPolicyVersion: 0,
    maxPolicyVersion: 0,
  };
}
