import type { JsonObject } from '@agentlightning/core';
import type { ReplayModel } from '../api/replay-views.ts';

/** Repeats recorded requests with other models. */
export interface Replayer {
  /**
   * The models that can repeat the requests of a run.
   *
   * @param runId - null for rollouts outside of a run
   */
  models(runId: string | null): Promise<readonly ReplayModel[]>;
  /**
   * Sends a Chat Completions request, which is not recorded.
   *
   * @returns the body of the response
   * @throws AgentLightningError NOT_FOUND for an unknown model; CONFLICT while the model is in use; UPSTREAM_FAILED
   */
  complete(request: ReplayRequest): Promise<JsonObject>;
}

/** A request to repeat. */
export interface ReplayRequest {
  /** The run of the rollout; null without one. */
  readonly runId: string | null;
  /** Id of one of the models. */
  readonly model: string;
  /** Name of the trained policy that made the call; null for a single policy. */
  readonly policy: string | null;
  /** Body of a Chat Completions request without streaming; its `model` is replaced. */
  readonly body: JsonObject;
  /** Aborts when the viewer does not wait any longer. */
  readonly signal: AbortSignal;
}
