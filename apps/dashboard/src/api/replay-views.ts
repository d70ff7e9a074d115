import type { TraceMessage } from '@agentlightning/trace';

/** A model that can repeat recorded requests. */
export interface ReplayModel {
  /** The name that requests send as `model`. */
  readonly id: string;
  /** `final checkpoint`, `checkpoint of step 40`, `endpoint gpt-4.1-mini`. */
  readonly label: string;
}

/** The models that can repeat the requests of a rollout. */
export interface ReplayModels {
  readonly items: readonly ReplayModel[];
  /** Why there are none, and how to get some; null when there are. */
  readonly reason: string | null;
}

/** The response of a model to a repeated request. */
export interface ReplayView {
  readonly messages: readonly TraceMessage[];
  readonly finishReason: string | null;
  /** From the start to the response, with the start of a model. */
  readonly durationMs: number;
  /** JSON of the response. */
  readonly responseBody: string;
}
