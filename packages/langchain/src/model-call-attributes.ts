import type { Attributes, JsonObject } from '@agentlightning/core';
import { fieldsOf, modelAnswerAttributes, modelRequestAttributes } from '@agentlightning/core/adapter';
import { genAiAttributes, modelCallAttributes } from '@agentlightning/core/spans';
import { type MessageLike, toChatMessage } from './chat-message.ts';
import { jsonOf, known, textOf } from './framework-value.ts';
import { modelIdOf, type PartialAnswer } from './partial-answer.ts';
import type { RunMetadata } from './run-attributes.ts';

/** What we read of a model's answers: one list a prompt, one entry a choice. */
export interface ResultLike {
  readonly generations?: readonly (readonly GenerationLike[])[];
  readonly llmOutput?: unknown;
}

interface GenerationLike {
  readonly text?: unknown;
  readonly message?: MessageLike | undefined;
  readonly generationInfo?: Readonly<Record<string, unknown>> | undefined;
}

/** The model that a call asks for, by whichever name it is known. */
export function modelNameOf(parameters: unknown, metadata: RunMetadata): string | null {
  const { model, model_name: name } = fieldsOf(parameters);
  return textOf(model) ?? textOf(name) ?? textOf(metadata.ls_model_name);
}

/** What is asked of a model. */
export function requestAttributes(parameters: unknown, messages: readonly MessageLike[]): Attributes {
  // Only tools are written as they are, and must have a JSON form; of all else, what is no text or number is passed over.
  const request = fieldsOf(parameters) as JsonObject;
  return modelRequestAttributes({ ...request, tools: jsonOf(request.tools), messages: messages.map(toChatMessage) });
}

/** What a model answered, whole. */
export function answerAttributes(result: ResultLike, streamed: PartialAnswer | undefined): Attributes {
  const generations = result.generations?.[0] ?? [];
  // A stream of several choices ends with all of them run together.
  const isRunTogether = streamed !== undefined && streamed.choiceCount > generations.length;
  return {
    ...modelAnswerAttributes({
      ...(isRunTogether ? {} : { choices: generations.map(toChoice) }),
      ...headOf(generations[0]?.message, result.llmOutput),
      ...(isRunTogether ? streamed.toBody() : {}),
    }),
    [modelCallAttributes.isStreamed]: streamed !== undefined,
  };
}

/** An answer as far as it was streamed. */
export function partialAttributes(streamed: PartialAnswer): Attributes {
  return {
    ...modelAnswerAttributes(streamed.toBody()),
    [modelCallAttributes.isStreamed]: true,
    [modelCallAttributes.isPartial]: true,
  };
}

/** An answer that came from a cache: no model was asked, so it is joined with no call of one. */
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
  return known({
    id: textOf(metadata['id']) ?? modelIdOf(message?.id),
    model: textOf(metadata['model_name']) ?? textOf(metadata['model']),
    usage: known({
      prompt_tokens: jsonOf(usage.input_tokens ?? counts.promptTokens),
      completion_tokens: jsonOf(usage.output_tokens ?? counts.completionTokens),
    }),
  });
}
