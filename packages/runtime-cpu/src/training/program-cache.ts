import type { LossName } from '@agentlightning/runtime/internal/losses';
import type { ModelConfig } from '../model/model-config.ts';
import {
  compileGradient,
  compileScore,
  type GradientProgram,
  type ProgramContext,
  type ScoreProgram,
} from './gradient-program.ts';
import type { TransformerShape } from './transformer.ts';

/** Compiled programs by key. Models of the same shape share them. */
export class ProgramCache {
  readonly #gradients = new Map<string, GradientProgram>();
  readonly #scores = new Map<string, ScoreProgram>();

  /** The forward and backward pass; compiled by its first call. */
  gradient(context: ProgramContext, loss: LossName): GradientProgram {
    const key = `${loss} ${programKey(context.config, context.shape)}`;
    const program = this.#gradients.get(key) ?? compileGradient(context, loss);
    this.#gradients.set(key, program);
    return program;
  }

  /** The forward pass; compiled by its first call. */
  score(context: ProgramContext): ScoreProgram {
    const key = programKey(context.config, context.shape);
    const program = this.#scores.get(key) ?? compileScore(context);
    this.#scores.set(key, program);
    return program;
  }
}

function programKey(config: ModelConfig, shape: TransformerShape): string {
  return JSON.stringify([Object.entries(config).sort(), shape.rows, shape.length, shape.outputs]);
}
