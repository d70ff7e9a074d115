import type { Attributes, JsonObject } from '@agentlightning/core';
import { modelRequestAttributes, modelResponseAttributes } from '@agentlightning/core/adapter';
import { fieldsOf, genAiAttributes, modelCallAttributes } from '@agentlightning/core/internal';
import { type MessageLike, toChatMessage } from './chat-message.ts';
import { jsonOf, textOf, withoutNulls } from './framework-value.ts';
import { modelIdOf, type PartialResponse } from './partial-response.ts';
import type { RunMetadata } from './run-attributes.ts';

/** The fields that are read of a model result: one list per prompt, one entry per choice. */
export interface ResultLike {
  readonly generations?: readonly (readonly GenerationLike[])[];
  readonly llmOutput?: unknown;
}

interface GenerationLike {
  readonly text?: unknown;
  readonly message?: MessageLike | undefined;
  readonly generationInfo?: Readonly<Record<string, unknown>> | undefined;
}

/** The requested model; parameters and metadata use several field names. */
export function modelNameOf(parameters: unknown, metadata: RunMetadata): string | null {
  const { model, model_name: name } = fieldsOf(parameters);
  return textOf(model) ?? textOf(name) ?? textOf(metadata.ls_model_name);
}

/** The attributes of a model request. */
export function requestAttributes(parameters: unknown, messages: readonly MessageLike[]): Attributes {
  // Tools are recorded unchanged and must be JSON. Of the other fields, only strings and numbers are recorded.
  const request = fieldsOf(parameters) as JsonObject;
  return modelRequestAttributes({ ...request, tools: jsonOf(request.tools), messages: messages.map(toChatMessage) });
}

/** The attributes of a complete response. */
export function responseAttributes(result: ResultLike, streamed: PartialResponse | undefined): Attributes {
  const generations = result.generations?.[0] ?? [];
  // At the end of a stream, LangChain merges several choices into one.
  const isMerged = streamed !== undefined && streamed.choiceCount > generations.length;
  return {
    ...modelResponseAttributes({
      ...(isMerged ? {} : { choices: generations.map(toChoice) }),
      ...headOf(generations[0]?.message, result.llmOutput),
      ...(isMerged ? streamed.toBody() : {}),
    }),
    [modelCallAttributes.isStreamed]: streamed !== undefined,
  };
}

/** The attributes of the received part of a stream. */
export function partialAttributes(streamed: PartialResponse): Attributes {
  return {
    ...modelResponseAttributes(streamed.toBody()),
    [modelCallAttributes.isStreamed]: true,
    [modelCallAttributes.isPartial]: true,
  };
}

/** The attributes of a cached response. Without the response id, it is not joined with a model call. */
export function cachedAttributes(attributes: Attributes): Attributes {
  const { [genAiAttributes.responseId]: _, ...rest } = attributes;
  return { ...rest, [modelCallAttributes.isCached]: true };
}

function toChoice({ message, text, generationInfo }: GenerationLike, index: number): JsonObject {
  const metadata = message?.response_metadata;
  return {
    index,
    message: message === undefined ? { role: 'assistant', content: textOf(text) ?? '' } : toChatMessage(message),
    finish_reason:
      textOf(generationInfo?.['finish_reason']) ??
      textOf(metadata?.['finish_reason']) ??
      textOf(metadata?.['stop_reason']) ??
      textOf(message?.additional_kwargs?.['stop_reason']) ??
      textOf(metadata?.['status']),
  };
}

function headOf(message: MessageLike | undefined, llmOutput: unknown): JsonObject {
  const metadata = message?.response_metadata ?? {};
  const usage = fieldsOf(message?.usage_metadata);
  const counts = fieldsOf(fieldsOf(llmOutput).tokenUsage);
  return withoutNulls({
    id: textOf(metadata['id']) ?? modelIdOf(message?.id),
    model: textOf(metadata['model_name']) ?? textOf(metadata['model']),
    usage: withoutNulls({
      prompt_tokens: jsonOf(usage.input_tokens ?? counts.promptTokens),
      completion_tokens: jsonOf(usage.output_tokens ?? counts.completionTokens),
    }),
  });
}
