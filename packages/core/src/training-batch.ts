/**
 * One token sequence of a training batch. All arrays over trained tokens have the same length: the
 * number of positions covered by `trained`, in order.
 */
export interface TrainingDatum {
  /** int32 token ids, as the engine saw and sampled them; at least 2. */
  readonly tokenIds: Int32Array;
  /** Half-open intervals of positions that are trained on; position 0 cannot be, it has no context. */
  readonly trained: readonly { readonly start: number; readonly end: number }[];
  /** float32, natural-log probabilities of the trained tokens when they were sampled, at `temperature`. */
  readonly samplingLogprobs: Float32Array;
  /** float32, advantage of each trained token. */
  readonly advantages: Float32Array;
  /** float32, weight of each trained token in the loss sum: normalisation lives here, not in the runtime. */
  readonly weights: Float32Array;
  /** float32, natural-log probabilities of a reference policy, for a KL term. */
  readonly referenceLogprobs?: Float32Array;
  /** float32, what the value head should say at each trained token; needed when a loss has `value_coefficient`. */
  readonly valueTargets?: Float32Array;
  /** float32, what the value head said when the targets were made; needed when a loss has `value_clip`. */
  readonly samplingValues?: Float32Array;
  /** The temperature the tokens were sampled at; logits are divided by it. */
  readonly temperature: number;
  readonly rolloutId: string;
  readonly groupId: string;
  /** Lowest and highest policy version that sampled a token of the sequence. */
  readonly minPolicyVersion: number;
  readonly maxPolicyVersion: number;
}

/** Sequences that go to the runtime together. */
export interface TrainingBatch {
  readonly data: readonly TrainingDatum[];
  /**
   * How many policy versions old the data may be when the batch is trained on; older data fail it with
   * the reason `STALE_WEIGHTS`. @default as old as they are
   */
  readonly maxVersionLag?: number;
}

/**
 * A loss of the runtime contract, by name, with its parameters. The runtime computes the plain sum
 * over trained tokens of weight times token loss; formulas are in the contract's documentation.
 */
export interface LossSpec {
  readonly name: 'cross_entropy' | 'importance_sampling' | 'ppo' | 'cispo' | 'gspo' | 'dro' | (string & {});
  /** Numbers by name, such as `clip_low`, `entropy_coefficient`. A name the runtime does not know is refused. */
  readonly parameters: Readonly<Record<string, number>>;
}

/** Adam's parameters for one step (Kingma & Ba 2015, with decoupled weight decay of Loshchilov & Hutter 2019). */
export interface AdamParameters {
  readonly learningRate: number;
  /** @default 0.9 */
  readonly beta1?: number;
  /** @default 0.95 */
  readonly beta2?: number;
  /** @default 1e-8 */
  readonly epsilon?: number;
  /** @default 0 */
  readonly weightDecay?: number;
  /** Gradients with a larger global norm are scaled down to it; 0 does not clip. @default 1 */
  readonly gradientClipNorm?: number;
}
