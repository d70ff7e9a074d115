import { ValidationError } from '@agentlightning/core';
import * as z from 'zod';
import type { ChatMessage, ChatTool } from './chat-message.ts';

const contentPart = z.looseObject({ type: z.string(), text: z.string().nullish(), refusal: z.string().nullish() });

const toolCall = z.object({
  id: z.string(),
  type: z.literal('function'),
  function: z.object({ name: z.string(), arguments: z.string() }),
});

const forcedMessage = z.object({
  content: z.union([z.string(), z.array(contentPart)]).nullish(),
  tool_calls: z.array(toolCall).nullish(),
});

const message = z.looseObject({ ...forcedMessage.shape, role: z.string() });

const tool = z.object({
  type: z.literal('function'),
  function: z.looseObject({
    name: z.string().min(1),
    parameters: z.looseObject({ properties: z.record(z.string(), z.unknown()).optional() }).optional(),
  }),
});

/** The maximum number of choices of one request. */
const maxChoices = 128;

/** A chat completion request; fields that do not affect the response, such as `user`, are ignored. */
export interface ChatRequest {
  /** The id of a served model. */
  readonly model: string;
  /** The conversation, at least one message. */
  readonly messages: readonly ChatMessage[];
  /** Function tools that the model may call. */
  readonly tools?: readonly ChatTool[] | null | undefined;
  /** Only `auto` and `none` are supported. */
  readonly tool_choice?: unknown;
  /** Maximum length of the response, in tokens. */
  readonly max_tokens?: number | null | undefined;
  /** The same under its newer name, which takes precedence. */
  readonly max_completion_tokens?: number | null | undefined;
  /** Sampling temperature, from 0 to 100. @default 1 */
  readonly temperature?: number | null | undefined;
  /** Samples from the likeliest tokens that together have this probability, above 0 and at most 1. @default 1 */
  readonly top_p?: number | null | undefined;
  /** Number of choices. */
  readonly n?: number | null | undefined;
  /** Makes sampling repeatable. */
  readonly seed?: number | null | undefined;
  /** Texts that end the response, at most four. */
  readonly stop?: string | readonly string[] | null | undefined;
  /** Whether the response arrives in chunks. @default false */
  readonly stream?: boolean | null | undefined;
  /** What a stream has beside its chunks. */
  readonly stream_options?: { readonly include_usage?: boolean | null | undefined } | null | undefined;
  /** Whether log-probabilities are returned. @default false */
  readonly logprobs?: boolean | null | undefined;
  /** Number of alternatives to each token, from 0 to 20. @default 0 */
  readonly top_logprobs?: number | null | undefined;
  /** Requests token ids, as in vLLM. */
  readonly return_token_ids?: boolean | null | undefined;
  /** An assistant message to return instead of a sampled one, with its tokens and log-probabilities (teacher forcing). */
  readonly forced_message?: Omit<ChatMessage, 'role'> | null | undefined;
  /** Variables of the chat template, as in vLLM. */
  readonly chat_template_kwargs?: Readonly<Record<string, unknown>> | null | undefined;
  /** The prompt, instead of the rendered messages. */
  readonly prompt_token_ids?: readonly number[] | null | undefined;
}

/** A request for the token ids of a conversation, as in vLLM. */
export interface TokenizeRequest extends Pick<ChatRequest, 'model' | 'messages' | 'tools' | 'chat_template_kwargs'> {
  /** Whether the start of the assistant's message follows. @default true */
  readonly add_generation_prompt?: boolean | null | undefined;
}

/** A field that affects the response and is not supported: only its neutral values, which change nothing. */
function unsupportedBy(model: string, neutral: readonly unknown[]): z.ZodType {
  const texts = neutral.map((value) => JSON.stringify(value));
  return z
    .unknown()
    .optional()
    .refine((value) => value === undefined || value === null || texts.includes(JSON.stringify(value)), {
      error: ({ input }) => `${JSON.stringify(input)} is not supported by ${model}; leave it out`,
    });
}

const conversation = {
  model: z.string(),
  messages: z.array(message).min(1, 'must hold at least one message'),
  tools: z.array(tool).nullish(),
};

/** The shape of a {@link TokenizeRequest}. */
export const tokenizeRequestSchema: z.ZodType<TokenizeRequest> = z.object({
  ...conversation,
  chat_template_kwargs: z.record(z.string(), z.unknown()).nullish(),
  add_generation_prompt: z.boolean().nullish(),
});

/** What requests to a server's models may hold. */
export interface ChatRequestRules {
  /** For messages: `the embedded model`. */
  readonly modelName: string;
  /** Number of token ids. */
  readonly vocabularySize: number;
}

/** The shape of a {@link ChatRequest}. */
export function chatRequestSchema({ modelName, vocabularySize }: ChatRequestRules): z.ZodType<ChatRequest> {
  const unsupported = (...neutral: readonly unknown[]): z.ZodType => unsupportedBy(modelName, neutral);
  return z.object({
    ...conversation,
    tool_choice: z.unknown().optional(),
    max_tokens: z.int().min(1).nullish(),
    max_completion_tokens: z.int().min(1).nullish(),
    temperature: z.number().min(0).max(100).nullish(),
    top_p: z.number().gt(0).max(1).nullish(),
    n: z.int().min(1).max(maxChoices).nullish(),
    seed: z.int().nullish(),
    stop: z.union([z.string(), z.array(z.string()).max(4)]).nullish(),
    stream: z.boolean().nullish(),
    stream_options: z.object({ include_usage: z.boolean().nullish() }).nullish(),
    logprobs: z.boolean().nullish(),
    top_logprobs: z.int().min(0).max(20).nullish(),
    return_token_ids: z.boolean().nullish(),
    forced_message: forcedMessage.nullish(),
    chat_template_kwargs: z.record(z.string(), z.unknown()).nullish(),
    prompt_token_ids: z
      .array(
        z
          .int()
          .min(0)
          .max(vocabularySize - 1),
      )
      .min(1)
      .nullish(),
    response_format: unsupported({ type: 'text' }),
    frequency_penalty: unsupported(0),
    presence_penalty: unsupported(0),
    repetition_penalty: unsupported(1),
    logit_bias: unsupported({}),
    top_k: unsupported(-1, 0),
    min_p: unsupported(0),
  });
}

/**
 * The tools of a request. `tool_choice: "none"` removes them; sampling cannot guarantee a forced tool.
 *
 * @throws ValidationError for other choices.
 */
export function offeredTools({
  tools,
  tool_choice: choice,
}: Pick<ChatRequest, 'tools' | 'tool_choice'>): readonly ChatTool[] {
  if (choice === 'none') return [];
  if (choice === undefined || choice === null || choice === 'auto') return tools ?? [];
  const message = `it is ${JSON.stringify(choice)}; it must be "auto" or "none", since the model samples freely`;
  throw new ValidationError('The request', [{ path: 'tool_choice', message }]);
}

/** The seed of each choice, null for a random one: choices have different seeds, also when the request sets one. */
export function choiceSeeds({ seed, n }: Pick<ChatRequest, 'seed' | 'n'>): readonly (number | null)[] {
  return Array.from({ length: n ?? 1 }, (_, index) =>
    seed === null || seed === undefined ? null : (Math.imul(index, 0x9e3779b1) + seed) >>> 0,
  );
}

/** Texts that end a response. A forced response has none. */
export function stopTexts({
  stop,
  forced_message: forced,
}: Pick<ChatRequest, 'stop' | 'forced_message'>): readonly string[] {
  if (forced) return [];
  const texts = typeof stop === 'string' ? [stop] : (stop ?? []);
  return texts.filter((text) => text !== '');
}
