/** The part of a pre-training recipe that determines the learning rate. */
export interface RateRecipe {
  readonly steps: number;
  /** The highest learning rate. */
  readonly learningRate: number;
  readonly warmupSteps: number;
  /** Share of the steps, at the end, in which the learning rate falls to zero. */
  readonly decayFraction: number;
}

/** Linear warm-up, then constant, then linear to zero. */
export function learningRateAt(step: number, recipe: RateRecipe): number {
  const warmup = Math.min(1, (step + 1) / recipe.warmupSteps);
  const decay = Math.min(1, (recipe.steps - step) / (recipe.steps * recipe.decayFraction));
  return recipe.learningRate * warmup * decay;
}
