import type { ModelState } from '@agentlightning/core/training-runtime';

/** Number of weights below which a model counts as tiny, as those of the embedded runtime. */
const tiny = 1e7;

/** Number of weights from which a model has the learning rate of large ones. */
const large = 1e9;

/**
 * The learning rate of a policy without a configured one. It depends on what is trained: adapters of LoRA move the policy
 * less than all weights do at the same rate, and a small model needs larger steps.
 */
export function defaultLearningRate({
  lora,
  trainableParameterCount,
}: Pick<ModelState, 'lora' | 'trainableParameterCount'>): number {
  if (lora !== undefined) return 1e-4;
  if (trainableParameterCount === undefined) return 1e-5;
  if (trainableParameterCount < tiny) return 2e-3;
  return trainableParameterCount < large ? 1e-5 : 1e-6;
}
