import type { RolloutMode } from '@agentlightning/core';

/** The examples of a data set for fine-tuning. */
export interface DatasetRequest {
  /** Id of the run. */
  readonly run: string;
  /** `chat`: conversations to imitate (SFT). `preference`: pairs of a better and a worse response. */
  readonly format: 'chat' | 'preference';
  /** What decides: rewards, or the labels and preferences of people. */
  readonly by: 'rewards' | 'annotations';
  /** The purpose of the rollouts. */
  readonly mode: RolloutMode;
  /** For `chat` by rewards: only rollouts with at least this reward. */
  readonly minReward?: number;
}

/** Reads a data set as lines of JSON, each with its line break. */
export type DatasetReader = (request: DatasetRequest) => AsyncIterable<string>;
