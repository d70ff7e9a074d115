import { currentRollout } from '@agentlightning/core';
import { modelRequestAttributes } from '@agentlightning/core/adapter';
import { genAiAttributes, type PartsResponse, withMembers } from '@agentlightning/core/internal';
import { newSpanId } from '@agentlightning/core/store';
import { observeStream } from './observe-stream.ts';
import { insideModelCalls, requestAttributes } from './open-model-call.ts';
import { Operation } from './operation.ts';
import { endOf } from './operation-end.ts';
import { operations } from './recorded-operations.ts';
import type { SdkPrompt } from './sdk-events.ts';
import { requestOf } from './sdk-messages.ts';

/** A language model of the AI SDK, in any version of its specification. */
export interface WrappableModel {
  /** Id of the model. */
  readonly modelId: string;
  // Prompts and results differ between versions; they are read as unknown.
  /** Calls the model and returns the whole response. */
  doGenerate(options: never): PromiseLike<unknown>;
  /** Calls the model and returns a stream. */
  doStream(options: never): PromiseLike<unknown>;
}

/**
 * Wraps a model so that it records calls that the AI SDK's telemetry does not fully report: errors, interrupted streams and
 * the trace position of requests in version 6, and `generateObject`. It has no effect on fully reported calls, or without
 * `instrumentAISDK`.
 *
 * @param model - a model of a provider, shared by any number of agents and rollouts
 *
 * @example
 * ```ts
 * const model = traceModel(openai.chat('gpt-5'));
 * ```
 */
export function traceModel<TModel extends WrappableModel>(model: TModel): TModel {
  const recordedCall = (name: 'doGenerate' | 'doStream') => (options: SdkPrompt) =>
    recorded({ ...options, modelId: model.modelId }, () => model[name](options as never));
  return withMembers(model, { doGenerate: recordedCall('doGenerate'), doStream: recordedCall('doStream') });
}

async function recorded(prompt: SdkPrompt, run: () => PromiseLike<unknown>): Promise<unknown> {
  const context = currentRollout();
  if (context === null || !operations.isRecording || insideModelCalls.has(context)) return run();
  const request = requestOf(prompt);
  const attributes = modelRequestAttributes(request);
  const claimed = operations.unmatched.claim(attributes[genAiAttributes.inputMessages]);
  // A call outside the AI SDK's telemetry is an operation in itself.
  const call = claimed ?? new Operation(operations.steps, newSpanId()).beginModelCall({ request });
  // The request has more data than the events, such as tool schemas.
  operations.steps.annotate(call.id, requestAttributes(call, attributes));
  const { operation } = call;
  const end = (error?: unknown): void => (claimed === null ? operation.end(endOf(error)) : undefined);
  try {
    const result = await operation.request(call, run);
    const tap = operation.streamTap(call);
    const ended = (): void => {
      tap.ended();
      end();
    };
    if (!observeStream(result, () => ({ ...tap, ended }))) {
      operation.completeModelCall((result ?? {}) as PartsResponse);
      end();
    }
    return result;
  } catch (error) {
    end(error);
    throw error;
  }
}
