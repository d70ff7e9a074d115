import { currentRollout, type JsonObject, newSpanId } from '@agentlightning/core';
import { modelRequestAttributes } from '@agentlightning/core/adapter';
import { gatherStream, type StreamReader } from './gathered-stream.ts';
import { inputMessagesOf, type OpenModelCall, requestAttributes } from './open-model-call.ts';
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
 * the place of requests in version 6, and `generateObject`. Where it tells enough, and without `instrumentAiSdk`, the model
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
      return (options: SdkPrompt) => recorded(target.modelId, options, () => call(options));
    },
  });
}

async function recorded(modelId: string, options: SdkPrompt, run: () => PromiseLike<unknown>): Promise<unknown> {
  const context = currentRollout();
  if (context === null || !operations.isRecording || operations.isInModelCall(context)) return run();
  const request = requestOf({ ...options, modelId });
  const attributes = modelRequestAttributes(request);
  const claimed = operations.claim(inputMessagesOf(attributes));
  const call = claimed ?? begin(request);
  if (call === null) return run();
  // The request says more than events do, such as the schemas of tools.
  operations.steps.annotate(call.id, requestAttributes(call, attributes));
  // Of a call that nobody else tells of, the answer's end is the end.
  const end = (error?: unknown): void =>
    claimed === null ? operations.end(call.operationId, endOf(error)) : undefined;
  try {
    const result = await operations.steps.within(call.id, run);
    if (!gatherStream(result, readerOf(call, end))) {
      operations.answerModelCall(call.operationId, (result ?? {}) as SdkAnswer);
      end();
    }
    return result;
  } catch (error) {
    operations.requestFailed(call, error);
    end(error);
    throw error;
  }
}

function readerOf(call: OpenModelCall, end: (error?: unknown) => void): StreamReader {
  const reader = operations.streamReader(call.operationId, call);
  return {
    ...reader,
    ended: () => {
      reader.ended();
      end();
    },
    failed: (error) => {
      reader.failed(error);
      end(error);
    },
  };
}

/** A call that the AI SDK does not tell of. */
function begin(request: JsonObject): OpenModelCall | null {
  const id = newSpanId();
  operations.begin({ id, name: 'model', agentName: null, isHidden: true });
  operations.beginModelCall(id, { request, areInputsRecorded: true, areOutputsRecorded: true, isUnplaced: false });
  return operations.modelCallOf(id);
}
