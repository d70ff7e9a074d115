import { setImmediate } from 'node:timers/promises';
import type { AdamParameters, LossSpec, TrainingDatum } from '@agentlightning/core/training-runtime';
import { BatchMetrics } from '@agentlightning/runtime/internal/losses';
import { Kernels } from '../model/kernels.ts';
import type { ModelConfig } from '../model/model-config.ts';
import { PreconditionError, RejectedRequestError } from '../runtime-errors.ts';
import { GradientPass, type ScoredMicroBatch, scoredTokens } from './gradient-pass.ts';
import { type ResolvedLoss, resolveLoss } from './loss-spec.ts';
import { type MicroBatch, planMicroBatches } from './micro-batch.ts';
import { type AdamState, adamStep, globalNorm, resolveAdam } from './optimizer.ts';
import { assertColumns, type TrainingExample, toTrainingExample } from './training-example.ts';

/** The result of a forward-backward pass. */
export interface BatchOutcome {
  /** The weighted loss sum. */
  readonly loss: number;
  /** Tokens of weight other than 0. */
  readonly trainedTokens: number;
  /** Metrics of the batch. */
  readonly metrics: Readonly<Record<string, number>>;
  /** The log-probability of each trained token, an array for each datum. */
  readonly logprobs: readonly Float32Array[];
  /** Output of the value head at each trained token, an array for each datum; null for a model without one. */
  readonly values: readonly Float32Array[] | null;
}

/** The result of an optimizer step. */
export interface StepOutcome {
  /** Steps so far. */
  readonly step: number;
  /** Global norm of the gradients before clipping. */
  readonly gradientNorm: number;
  /** Global norm of the change of the parameters; 0 for a skipped step. */
  readonly updateNorm: number;
  /** True when a gradient was not finite: weights and moments are unchanged, the gradients are discarded. */
  readonly isSkipped: boolean;
}

/** State of a trainer: it updates the parameters and the optimizer state in place. */
export interface TrainerOptions {
  readonly config: ModelConfig;
  readonly parameters: Float32Array;
  readonly adam: AdamState;
  /** Called after every micro-batch; the next one starts when it settles. @default a turn of the event loop */
  readonly yieldToSampling?: (() => Promise<void>) | undefined;
}

/** Called after every micro-batch with the number of completed tokens. */
export type OnProgress = (tokensDone: number) => void;

const ignoreProgress: OnProgress = () => {};

type Compute = (microBatch: MicroBatch) => ScoredMicroBatch;

/** Callback for every micro-batch of a batch. */
interface Work {
  readonly pass: GradientPass;
  readonly compute: Compute;
  readonly onProgress: OnProgress;
}

/**
 * Accumulates gradients of batches and takes optimizer steps. Calls must not overlap; other work of the process runs
 * between micro-batches.
 */
export class ModelTrainer {
  readonly #config: ModelConfig;
  readonly #parameters: Float32Array;
  readonly #kernels: Kernels = new Kernels();
  readonly #gradients: Float32Array;
  readonly #yieldToSampling: () => Promise<void>;
  #adam: AdamState;
  #hasPendingGradients = false;

  constructor(options: TrainerOptions) {
    this.#config = options.config;
    this.#parameters = options.parameters;
    this.#adam = options.adam;
    this.#yieldToSampling = options.yieldToSampling ?? (() => setImmediate());
    this.#gradients = new Float32Array(options.parameters.length);
  }

  /** Adam's moments and step count. The arrays belong to the trainer. */
  get adam(): AdamState {
    return this.#adam;
  }

  /** Whether gradients are accumulated. */
  get hasPendingGradients(): boolean {
    return this.#hasPendingGradients;
  }

  /** A copy of the accumulated gradients, in the parameters' order. */
  pendingGradients(): Float32Array {
    return Float32Array.from(this.#gradients);
  }

  /** Accumulates a batch's gradients. A rejected batch does not change them. */
  async forwardBackward(
    data: readonly TrainingDatum[],
    spec: LossSpec,
    onProgress: OnProgress = ignoreProgress,
  ): Promise<BatchOutcome> {
    const loss = resolveLoss(spec);
    this.#assertComputable(data, loss);
    const pass = this.#pass(loss);
    const compute: Compute = (microBatch) => pass.forwardBackward(microBatch);
    const outcome = await this.#run(data, { pass, compute, onProgress });
    accumulate(this.#gradients, pass.gradients());
    this.#hasPendingGradients = true;
    return outcome;
  }

  /** The log-probabilities and metrics of a batch, without gradients; the loss is 0. */
  async forward(data: readonly TrainingDatum[], onProgress: OnProgress = ignoreProgress): Promise<BatchOutcome> {
    const pass = this.#pass(resolveLoss({ name: 'importance_sampling', parameters: {} }));
    return this.#run(data, { pass, compute: (microBatch) => pass.score(microBatch), onProgress });
  }

  /** Applies and clears the accumulated gradients. */
  optimStep(parameters: AdamParameters): StepOutcome {
    const adam = resolveAdam(parameters);
    if (!this.#hasPendingGradients) {
      throw new PreconditionError(
        'There are no gradients to take a step with',
        'Send a forward-backward batch before the optimizer step.',
      );
    }
    const gradientNorm = globalNorm(this.#gradients);
    if (!Number.isFinite(gradientNorm)) {
      this.discardGradients();
      return { step: this.#adam.step, gradientNorm, updateNorm: 0, isSkipped: true };
    }
    const outcome = adamStep(this.#parameters, this.#gradients, { state: this.#adam, adam });
    this.#adam = { ...this.#adam, step: this.#adam.step + 1 };
    this.discardGradients();
    return { step: this.#adam.step, ...outcome, isSkipped: false };
  }

  /** Discards the accumulated gradients. */
  discardGradients(): void {
    this.#gradients.fill(0);
    this.#hasPendingGradients = false;
  }

  #assertComputable(data: readonly TrainingDatum[], loss: ResolvedLoss): void {
    assertColumns(data, loss);
    if (loss.parameters['value_coefficient'] === 0 || this.#config.hasValueHead) return;
    throw new RejectedRequestError('value_coefficient is not 0, but the model has no value head');
  }

  #pass(loss: ResolvedLoss): GradientPass {
    return new GradientPass({
      config: this.#config,
      parameters: this.#parameters,
      kernels: this.#kernels,
      loss,
    });
  }

  async #run(data: readonly TrainingDatum[], { pass, compute, onProgress }: Work): Promise<BatchOutcome> {
    const examples = data.map((datum, index) => toTrainingExample(datum, index, this.#config));
    const column = (): readonly Float32Array[] =>
      examples.map(({ trainedPositions }) => new Float32Array(trainedPositions.length));
    const logprobs = column();
    const values = this.#config.hasValueHead ? column() : null;
    const metrics = new BatchMetrics(pass.loss);
    let loss = 0;
    // Sequences without a trained token need no computation.
    let tokensDone = tokensOf(examples.filter(({ trainedPositions }) => trainedPositions.length === 0));
    for (const microBatch of planMicroBatches(examples)) {
      const scored = compute(microBatch);
      loss += scored.loss;
      tokensDone += tokensOf(microBatch.members.map(({ example }) => example));
      onProgress(tokensDone);
      collect(microBatch, scored, { logprobs, values, metrics });
      await this.#yieldToSampling();
    }
    return { loss, trainedTokens: metrics.trainedTokens, metrics: metrics.summary(), logprobs, values };
  }
}

function tokensOf(examples: readonly TrainingExample[]): number {
  return examples.reduce((sum, { datum }) => sum + datum.tokenIds.length, 0);
}

function collect(
  { members }: MicroBatch,
  scored: ScoredMicroBatch,
  into: Pick<BatchOutcome, 'logprobs' | 'values'> & { readonly metrics: BatchMetrics },
): void {
  let from = 0;
  for (const member of members) {
    const { index } = member.example;
    const end = from + member.contexts.length;
    into.logprobs[index]?.set(scored.logprobs.subarray(from, end));
    if (scored.values !== null) into.values?.[index]?.set(scored.values.subarray(from, end));
    into.metrics.addSequence([...scoredTokens(member, scored, from).values()]);
    from = end;
  }
}

/** Adds `addend` to `target`, element by element. They have the same length. */
function accumulate(target: Float32Array, addend: Float32Array): void {
  // An index loop on purpose: over the entries of an array it is ten times slower.
  for (let i = 0; i < target.length; i++) target[i] = (target[i] as number) + (addend[i] as number);
}
