import type { LoraConfig } from '@agentlightning/core/training-runtime';

/** A request to create or find a model. */
export interface ModelRequest {
  readonly modelId: string;
  readonly baseModel: string;
  readonly seed: number;
  /** All defaults filled in. Absent: all weights are trained. */
  readonly lora?: Required<LoraConfig>;
  readonly hasValueHead: boolean;
  /** The checkpoint that a new model begins with. Absent: the weights of the base. */
  readonly initialCheckpoint?: string;
}

const keys = ['baseModel', 'seed', 'lora', 'hasValueHead'] as const;

/** The differences between a request and an existing model, which ignores an initial checkpoint; undefined when equal. */
export function differenceOf(made: ModelRequest, asked: ModelRequest): string | undefined {
  const text = (value: unknown): string => JSON.stringify(value) ?? 'none';
  const differing = keys.filter((key) => text(made[key]) !== text(asked[key]));
  if (differing.length === 0) return undefined;
  return differing.map((key) => `${key} ${text(made[key])}, not ${text(asked[key])}`).join(', ');
}
