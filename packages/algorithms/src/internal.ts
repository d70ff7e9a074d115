/**
 * What the other packages of Agent Lightning share with this one. It can change in every release: programs of users import the
 * root of the package.
 *
 * @module
 */
export { fineTuneExamples } from './dataset/fine-tune-examples.ts';
export { preferenceExamples } from './dataset/preference-examples.ts';
export { compareMeans } from './evaluation/compare-means.ts';
export { compareSequentially } from './evaluation/confidence-sequence.ts';
export type { RecipeOptions } from './recipe.ts';
export { createRecipe } from './recipe.ts';
export { parseAlgorithmOptions } from './registry.ts';
export { splitByTokens, withReferenceLogprobs } from './training-batch/training-batches.ts';
export { transitionsFromSpans } from './transition/transitions-from-spans.ts';
export { finalReward } from './transition/turn-rewards.ts';
