import type { LoraConfig } from '@agentlightning/core/training-runtime';

/** Which model is to be made or found. */
export interface ModelRequest {
  readonly modelId: string;
  readonly baseModel: string;
  readonly seed: number;
  /** With every default filled in. Absent: all weights are trained. */
  readonly lora?: Required<LoraConfig>;
  readonly hasValueHead: boolean;
}

const keys = ['baseModel', 'seed', 'lora', 'hasValueHead'] as const;

/** What a model was asked for otherwise than it was made; undefined when it is the same. */
export function differenceOf(made: ModelRequest, asked: ModelRequest): string | undefined {
  const text = (value: unknown): string => JSON.stringify(value) ?? 'none';
  const differing = keys.filter((key) => text(made[key]) !== text(asked[key]));
  if (differing.length === 0) return undefined;
  return differing.map((key) => `${key} ${text(made[key])}, not ${text(asked[key])}`).join(', ');
}
