import type { TrainingBatch, TrainingDatum } from '@agentlightning/core/training-runtime';

const rows = 256;
const rowTokens = 3_906;

/** About a million tokens as a GRPO step has them: each row with one advantage and one weight, trained in four intervals. */
export function millionTokens(trainedFraction: number): TrainingBatch {
  return { data: Array.from({ length: rows }, (_, row) => aRow(row, trainedFraction)) };
}

/** Number of tokens of a batch. */
export function tokensOf({ data }: TrainingBatch): number {
  return data.reduce((sum, { tokenIds }) => sum + tokenIds.length, 0);
}

function aRow(row: number, trainedFraction: number): TrainingDatum {
  const trained = turns(trainedFraction);
  const count = trained.reduce((sum, { start, end }) => sum + end - start, 0);
  return {
    tokenIds: Int32Array.from({ length: rowTokens }, (_, at) => (row * 7_919 + at * 104_729) % 151_936),
    trained,
    samplingLogprobs: Float32Array.from({ length: count }, (_, at) => -((row + at * 37) % 997) / 199),
    advantages: new Float32Array(count).fill((row % 17) / 8 - 1),
    weights: new Float32Array(count).fill(1 / (rows * count)),
    temperature: 1,
    rolloutId: `ro-${String(row).padStart(12, '0')}`,
    groupId: `task-${Math.floor(row / 16)}`,
    minPolicyVersion: 3,
    maxPolicyVersion: 4,
  };
}

/** Four answers of an agent, evenly spread; with everything trained, all but the first token. */
function turns(trainedFraction: number): TrainingDatum['trained'] {
  const turnTokens = rowTokens / 4;
  return Array.from({ length: 4 }, (_, turn) => {
    const [begin, end] = [Math.floor(turn * turnTokens), Math.floor((turn + 1) * turnTokens)];
    return { start: Math.max(1, begin, Math.ceil(end - turnTokens * trainedFraction)), end };
  });
}
