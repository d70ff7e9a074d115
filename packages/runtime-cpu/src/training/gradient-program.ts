import type { LossName } from '@agentlightning/runtime/internal/losses';
import { jit, nn, numpy as np, tree, valueAndGrad } from '@jax-js/jax';
import type { ModelConfig } from '../model/model-config.ts';
import { type LossInput, type LossScalars, lossSum } from './losses.ts';
import {
  type ParameterArrays,
  type TransformerInput,
  type TransformerShape,
  transformerOutput,
} from './transformer.ts';

/** The arrays that select and weight tokens, all rows × outputs except the temperatures (rows). */
export type ScoringInput = Omit<LossInput, 'logprobs' | 'entropies' | 'values'> & {
  /** int32 */
  targets: np.Array;
  temperatures: np.Array;
  scalars: LossScalars;
};

/** Inputs of a program other than parameters and embeddings. */
export type ProgramInput = { model: Omit<TransformerInput, 'embedded'>; scoring: ScoringInput };

/** Scores of each selected token, rows × outputs. */
export type ScoredTokens = {
  logprobs: np.Array;
  entropies: np.Array;
  /** Only with a value head. */
  values?: np.Array;
};

/** Outputs of a program: the scores and the gradients. */
export interface ProgramOutput extends ScoredTokens {
  readonly loss: np.Array;
  readonly parameterGradients: ParameterArrays;
  /** rows × length × width */
  readonly embeddingGradients: np.Array;
}

/** Runs the forward and backward pass of one shape and loss. Takes ownership of its arguments. */
export type GradientProgram = (parameters: ParameterArrays, embedded: np.Array, input: ProgramInput) => ProgramOutput;

/** Scores without gradients. Takes ownership of its arguments. */
export type ScoreProgram = (parameters: ParameterArrays, embedded: np.Array, input: ProgramInput) => ScoredTokens;

/** Key of a compiled program. */
export interface ProgramContext {
  readonly config: ModelConfig;
  readonly shape: TransformerShape;
}

/** Creates the forward and backward pass for one shape and loss; compiled by the first call. */
export function compileGradient(context: ProgramContext, loss: LossName): GradientProgram {
  const objective = (parameters: ParameterArrays, embedded: np.Array, input: ProgramInput): Scored => {
    const { targets, temperatures, scalars, ...rest } = input.scoring;
    const scored = score(parameters, { ...input.model, embedded }, { targets, temperatures, context });
    const sum = lossSum(loss, { ...rest, ...tree.ref(scored) }, scalars);
    tree.dispose(scalars);
    return [sum, scored];
  };
  const compiled = jit(valueAndGrad(objective, { argnums: [0, 1], hasAux: true }));
  return (parameters, embedded, input) => {
    // The types of valueAndGrad omit that with hasAux the first element is the pair [value, aux].
    const [[sum, scored], [parameterGradients, embeddingGradients]] = compiled(
      parameters,
      embedded,
      input,
    ) as unknown as [Scored, [ParameterArrays, np.Array]];
    return { loss: sum, ...scored, parameterGradients, embeddingGradients };
  };
}

/** Compiles the forward pass for one shape. */
export function compileScore(context: ProgramContext): ScoreProgram {
  return jit((parameters: ParameterArrays, embedded: np.Array, input: ProgramInput) => {
    const { targets, temperatures, ...unused } = input.scoring;
    tree.dispose(unused);
    return score(parameters, { ...input.model, embedded }, { targets, temperatures, context });
  });
}

type Scored = [loss: np.Array, scored: ScoredTokens];

interface ScoreContext {
  readonly targets: np.Array;
  readonly temperatures: np.Array;
  readonly context: ProgramContext;
}

/** Log-probability of each target and entropy of its distribution, at the row's temperature; the value without it. */
function score(
  parameters: ParameterArrays,
  model: TransformerInput,
  { targets, temperatures, context }: ScoreContext,
): ScoredTokens {
  const { config, shape } = context;
  const { logits, ...values } = transformerOutput(parameters, model, context);
  const scaled = logits.div(temperatures.reshape([shape.rows, 1, 1]));
  const all = nn.logSoftmax(scaled, -1);
  const logprobs = all.ref.mul(nn.oneHot(targets, config.outputSize)).sum(-1);
  const entropies = np.exp(all.ref).mul(all).sum(-1).neg();
  return { logprobs, entropies, ...values };
}
