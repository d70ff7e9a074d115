import type { Clock } from '@agentlightning/core';
import { AgentLightningError, type RolloutEndpoint, type SpanSink, withRollout } from '@agentlightning/core';
import { backoffMs, isRetryableStatus, withRetry } from '@agentlightning/core/internal';
import { newId, newTraceId } from '@agentlightning/core/store';
import type { EnvironmentFactory, playEnvironment } from '@agentlightning/environments';

/** A tool call of an episode. */
export interface PlayedCall {
  readonly tool: string;
  readonly arguments: unknown;
}

/** What a model wrote at the end of an episode, and the calls that it made. */
export interface PlayedEpisode {
  readonly text: string;
  readonly calls: readonly PlayedCall[];
}

/** The model and the services of {@link ModelPlayer}. */
export interface ModelPlayerOptions {
  readonly endpoint: RolloutEndpoint;
  readonly play: typeof playEnvironment;
  readonly clock: Clock;
  /** Ends all episodes. */
  readonly signal: AbortSignal;
}

const maxTries = 5;
const retryBackoff = { baseDelayMs: 500, maxDelayMs: 8000 };

/** Spans of these episodes are not recorded. */
const noSink: SpanSink = { append: () => undefined, flush: () => Promise.resolve() };

/** Plays environments with a model that is not trained. */
export class ModelPlayer {
  readonly #options: ModelPlayerOptions;

  constructor(options: ModelPlayerOptions) {
    this.#options = options;
  }

  /**
   * Plays an episode. It is repeated while the endpoint is busy.
   *
   * @throws AgentLightningError UPSTREAM_FAILED when the endpoint rejects the request or stays busy, UNAUTHENTICATED when it rejects
   * the key, ENVIRONMENT_FAILED when the environment breaks
   */
  async play(
    environment: EnvironmentFactory<string, false>,
    task: string,
    { system, maxTurns }: { readonly system: string; readonly maxTurns: number },
  ): Promise<PlayedEpisode> {
    const { play, clock, signal } = this.#options;
    const once = async (): Promise<PlayedEpisode> => {
      const calls: PlayedCall[] = [];
      const agent = play(recorded(environment, calls), { system, maxTurns });
      const text = await withRollout(this.#context(), () => agent(task));
      return { text, calls };
    };
    try {
      return await withRetry(once, {
        clock,
        signal: () => signal,
        delayMs: (error, failures) =>
          isRetryableStatus(statusOf(error)) && failures < maxTries ? backoffMs(retryBackoff, failures) : null,
      });
    } catch (error) {
      signal.throwIfAborted();
      throw this.#failure(error);
    }
  }

  #context(): Parameters<typeof withRollout>[0] {
    const { endpoint, signal } = this.#options;
    return {
      rolloutId: newId('rollout'),
      attemptId: newId('attempt'),
      mode: null,
      traceId: newTraceId(),
      parentSpanId: null,
      agentName: null,
      sink: noSink,
      endpoint,
      signal,
    };
  }

  #failure(error: unknown): unknown {
    if (AgentLightningError.isInstance(error) && error.code !== 'AGENT_FAILED') return error;
    const { baseUrl, model } = this.#options.endpoint;
    const isRefused = [401, 403].includes(statusOf(error));
    return new AgentLightningError({
      code: isRefused ? 'UNAUTHENTICATED' : 'UPSTREAM_FAILED',
      // The response to a wrong key may contain the key.
      message: isRefused
        ? `model ${model} at ${baseUrl} rejects the key`
        : `model ${model} at ${baseUrl} failed: ${error instanceof Error ? error.message : String(error)}`,
      remedy: 'Check --endpoint, --model and --key-env.',
      ...(isRefused ? {} : { cause: error }),
    });
  }
}

/** The HTTP status of an error; 0 without one. */
function statusOf(error: unknown): number {
  const status = typeof error === 'object' && error !== null && 'status' in error ? error.status : null;
  return typeof status === 'number' ? status : 0;
}

/** The environment, whose tool calls are listed. */
function recorded(
  environment: EnvironmentFactory<string, false>,
  calls: PlayedCall[],
): EnvironmentFactory<string, false> {
  return {
    ...environment,
    create: () => {
      const inner = environment.create();
      return {
        reset: (task, context) => inner.reset(task, context),
        tools: () => inner.tools(),
        step: (action, context) => {
          if (action.type === 'tool-call') calls.push({ tool: action.name, arguments: action.arguments });
          return inner.step(action, context);
        },
        state: (context) => inner.state(context),
        close: () => inner.close(),
      };
    },
  };
}
