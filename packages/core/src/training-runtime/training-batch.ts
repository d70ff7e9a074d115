/**
 * One token sequence of a training batch. All arrays over training tokens have the same length: the number of positions
 * covered by `trained`, in order.
 */
export interface TrainingDatum {
  /** int32 token ids, as the engine processed and sampled them; at least 2. */
  readonly tokenIds: Int32Array;
  /** Half-open intervals of training positions; position 0 has no context and is excluded. */
  readonly trained: readonly { readonly start: number; readonly end: number }[];
  /** float32, natural-log probabilities of the training tokens at sampling time, at `temperature`. */
  readonly samplingLogprobs: Float32Array;
  /** float32, advantage of each training token. */
  readonly advantages: Float32Array;
  /** float32, loss weight of each training token: normalisation is done here, not in the runtime. */
  readonly weights: Float32Array;
  /** float32, natural-log probabilities of a reference policy, for a KL term. */
  readonly referenceLogprobs?: Float32Array;
  /** float32, target of the value head at each training token; required for a loss with `value_coefficient`. */
  readonly valueTargets?: Float32Array;
  /** float32, output of the value head when the targets were computed; required for a loss with `value_clip`. */
  readonly samplingValues?: Float32Array;
  /**
   * The images of the sequence, in the order of their tokens: data URLs with a file in base64. Only for a model that
   * `readsImages`. @default none
   */
  readonly images?: readonly string[];
  /** Sampling temperature; logits are divided by it. */
  readonly temperature: number;
  /** Id of the rollout. */
  readonly rolloutId: string;
  /** Id of its group. */
  readonly groupId: string;
  /** Lowest and highest policy version of the sequence's tokens. */
  readonly minPolicyVersion: number;
  /** Highest policy version of the sequence's tokens. */
  readonly maxPolicyVersion: number;
}

/** Sequences sent to the runtime together. */
export interface TrainingBatch {
  /** The rows. */
  readonly data: readonly TrainingDatum[];
  /**
   * Maximum age of the data in policy versions at training time; older data fail the batch with the reason
   * `STALE_WEIGHTS`. @default no limit
   */
  readonly maxVersionLag?: number;
}

/**
 * A loss of the runtime contract, by name, with its parameters. The runtime computes the plain sum
 * over training tokens of weight times token loss; formulas are in the contract's documentation.
 */
export interface LossSpec {
  /** Name of the loss. */
  readonly name: 'cross_entropy' | 'importance_sampling' | 'ppo' | 'cispo' | 'gspo' | 'dro' | (string & {});
  /** Numbers by name, such as `clip_low`, `entropy_coefficient`. Unknown names are rejected. */
  readonly parameters: Readonly<Record<string, number>>;
}

/** Adam's parameters for one step (Kingma & Ba 2015, with decoupled weight decay of Loshchilov & Hutter 2019). */
export interface AdamParameters {
  /** The learning rate. */
  readonly learningRate: number;
  /** @default 0.9 */
  readonly beta1?: number;
  /** @default 0.95 */
  readonly beta2?: number;
  /** @default 1e-8 */
  readonly epsilon?: number;
  /** Weight decay, separate from the gradient. @default 0 */
  readonly weightDecay?: number;
  /** Gradients with a larger global norm are scaled down to it; 0 does not clip. @default 1 */
  readonly gradientClipNorm?: number;
}
