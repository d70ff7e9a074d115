import { currentRollout } from '@agentlightning/core';
import { modelRequestAttributes } from '@agentlightning/core/adapter';
import { genAiAttributes } from '@agentlightning/core/spans';
import { newSpanId } from '@agentlightning/core/store';
import { gatherStream } from './gathered-stream.ts';
import { insideModelCalls, requestAttributes } from './open-model-call.ts';
import { Operation } from './operation.ts';
import { endOf } from './operation-end.ts';
import { operations } from './recorded-operations.ts';
import type { SdkAnswer, SdkPrompt } from './sdk-events.ts';
import { requestOf } from './sdk-messages.ts';

/** A language model of the AI SDK, of any version of its specification. */
export interface WrappableModel {
  readonly modelId: string;
  // The prompts and results of the versions differ; what is read of them is looked at as unknown.
  doGenerate(options: never): PromiseLike<unknown>;
  doStream(options: never): PromiseLike<unknown>;
}

type Call = (options: unknown) => PromiseLike<unknown>;

/**
 * The same model, which records its own calls where the AI SDK does not tell enough of them: errors, broken streams and
 * the place of requests in version 6, and `generateObject`. Where it tells enough, and without `instrumentAISDK`, the model
 * adds nothing.
 *
 * @param model - a model of a provider, shared by any number of agents and rollouts
 *
 * @example
 * ```ts
 * const model = agentLightningModel(openai.chat('gpt-5'));
 * ```
 */
export function agentLightningModel<TModel extends WrappableModel>(model: TModel): TModel {
  return new Proxy(model, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      const call = (value as Call).bind(target);
      if (name !== 'doGenerate' && name !== 'doStream') return call;
      return (options: SdkPrompt) => recorded({ ...options, modelId: target.modelId }, () => call(options));
    },
  });
}

async function recorded(prompt: SdkPrompt, run: () => PromiseLike<unknown>): Promise<unknown> {
  const context = currentRollout();
  if (context === null || !operations.isRecording || insideModelCalls.has(context)) return run();
  const request = requestOf(prompt);
  const attributes = modelRequestAttributes(request);
  const claimed = operations.unplaced.claim(attributes[genAiAttributes.inputMessages]);
  // A call that the AI SDK does not tell of is an operation by itself.
  const call = claimed ?? new Operation(operations.steps, newSpanId()).beginModelCall({ request });
  // The request says more than events do, such as the schemas of tools.
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
    if (!gatherStream(result, () => ({ ...tap, ended }))) {
      operation.answerModelCall((result ?? {}) as SdkAnswer);
      end();
    }
    return result;
  } catch (error) {
    end(error);
    throw error;
  }
}
