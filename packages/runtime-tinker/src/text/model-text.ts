import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import { AgentLightningError } from '@agentlightning/core';
import { parse } from '@agentlightning/core/internal';
import type { ChatMessage, ChatRequest, ChatTool } from '@agentlightning/runtime/serving';
import { Template } from '@huggingface/jinja';
import { Tokenizer } from '@huggingface/tokenizers';
import * as z from 'zod';

const tokenId = z.int().min(0);
const configSchema = z.looseObject({
  vocab_size: z.int().min(1).optional(),
  max_position_embeddings: z.int().min(1).optional(),
  eos_token_id: z.union([tokenId, z.array(tokenId)]).nullish(),
});
const tokenName = z.union([z.string(), z.looseObject({ content: z.string() })]).nullish();
const tokenizerConfigSchema = z.looseObject({
  chat_template: z.string().nullish(),
  bos_token: tokenName,
  eos_token: tokenName,
});

/** What a model reads and writes: its tokenizer and its chat template. */
export interface ModelText {
  readonly tokenizerSha256: string;
  /** Null for a model without a template. */
  readonly chatTemplateSha256: string | null;
  readonly vocabularySize: number;
  /** In tokens; null: not stated. */
  readonly maxContext: number | null;
  /** Token ids that end a response. */
  readonly endTokens: readonly number[];
  /** The chat template; its text decides how tools are called. */
  readonly chatTemplate: string;
  /** The token ids of a conversation, ready for the assistant's message. */
  render(conversation: Conversation): readonly number[];
  /** The text of tokens, with special tokens by name. */
  decode(tokens: readonly number[]): string;
}

/** A conversation to render. */
export interface Conversation {
  readonly messages: readonly ChatMessage[];
  readonly tools: readonly ChatTool[];
  /** @default true */
  readonly addsGenerationPrompt?: boolean;
  readonly variables?: ChatRequest['chat_template_kwargs'];
}

/**
 * Reads the tokenizer and the chat template of a model.
 *
 * @param place - a folder, or the name of a model in the cache of the Hugging Face hub
 * @param environment - where the cache is
 * @throws AgentLightningError CONFIG when it has none
 */
export async function loadModelText(place: string, environment: NodeJS.ProcessEnv): Promise<ModelText> {
  const folder = await folderOf(place, hubCache(environment));
  const tokenizerText = await readFile(path.join(folder, 'tokenizer.json'), 'utf8');
  const tokenizerConfig = await readJsonFile(folder, 'tokenizer_config.json', tokenizerConfigSchema);
  const config = await readJsonFile(folder, 'config.json', configSchema);
  const generation = await readJsonFile(folder, 'generation_config.json', configSchema);
  const templateFile = path.join(folder, 'chat_template.jinja');
  const chatTemplate = existsSync(templateFile)
    ? await readFile(templateFile, 'utf8')
    : (tokenizerConfig.chat_template ?? null);
  const tokenizer = new Tokenizer(JSON.parse(tokenizerText) as object, tokenizerConfig);
  const [bos, eos] = [nameOf(tokenizerConfig.bos_token), nameOf(tokenizerConfig.eos_token)];
  const eosId = eos === '' ? undefined : tokenizer.token_to_id(eos);
  const ends = [generation.eos_token_id, config.eos_token_id, eosId].flatMap((ids) => ids ?? []);
  const template = chatTemplate === null ? null : new Template(chatTemplate);
  return {
    tokenizerSha256: sha256(tokenizerText),
    chatTemplateSha256: chatTemplate === null ? null : sha256(chatTemplate),
    vocabularySize: config.vocab_size ?? tokenizer.get_vocab().size,
    maxContext: config.max_position_embeddings ?? null,
    endTokens: [...new Set(ends)],
    chatTemplate: chatTemplate ?? '',
    render: ({ messages, tools, addsGenerationPrompt = true, variables }) => {
      if (template === null) throw withoutTemplate(place);
      const text = template.render({
        messages: messages.map(templateMessage),
        tools: tools.length === 0 ? null : tools,
        add_generation_prompt: addsGenerationPrompt,
        bos_token: bos,
        eos_token: eos,
        ...variables,
      });
      return tokenizer.encode(text, { add_special_tokens: false }).ids;
    },
    decode: (tokens) =>
      tokenizer.decode([...tokens], { skip_special_tokens: false, clean_up_tokenization_spaces: false }),
  };
}

/** A message as templates expect it: text instead of parts, arguments of calls as objects. */
function templateMessage(message: ChatMessage): object {
  const { content, tool_calls: calls, ...rest } = message;
  return {
    ...rest,
    content: typeof content === 'string' ? content : (content ?? []).map(textOfPart).join(''),
    ...(calls && calls.length > 0
      ? {
          tool_calls: calls.map((call) => ({
            ...call,
            function: { ...call.function, arguments: argumentsOf(call.function.arguments) },
          })),
        }
      : {}),
  };
}

function textOfPart(part: {
  readonly type: string;
  readonly text?: string | null | undefined;
  readonly refusal?: string | null | undefined;
}): string {
  if (part.type === 'text') return part.text ?? '';
  if (part.type === 'refusal') return part.refusal ?? '';
  throw new AgentLightningError({
    code: 'VALIDATION',
    message: `A message has content of type "${part.type}", but models of a Tinker server read only text`,
    remedy: 'Send the content as a string, or as parts of type "text".',
  });
}

/** Arguments that are not JSON stay text: the model wrote them so. */
function argumentsOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

async function folderOf(place: string, cache: string): Promise<string> {
  const cached = path.join(cache, `models--${place.replaceAll('/', '--')}`);
  const reference = path.join(cached, 'refs', 'main');
  const folder = existsSync(reference)
    ? path.join(cached, 'snapshots', (await readFile(reference, 'utf8')).trim())
    : path.resolve(place);
  if (existsSync(path.join(folder, 'tokenizer.json'))) return folder;
  throw new AgentLightningError({
    code: 'CONFIG',
    message: `There is no tokenizer of "${place}": neither a folder with tokenizer.json, nor in the hub's cache at ${cache}`,
    remedy: `Set \`tokenizer\` to a folder with tokenizer.json, tokenizer_config.json and the chat template, or download them: \`hf download ${place} --include "*.json" "*.jinja"\`.`,
  });
}

function hubCache({ HF_HUB_CACHE: cache, HF_HOME: home }: NodeJS.ProcessEnv): string {
  return cache ?? path.join(home ?? path.join(homedir(), '.cache', 'huggingface'), 'hub');
}

async function readJsonFile<TSchema extends z.ZodType>(
  folder: string,
  name: string,
  schema: TSchema,
): Promise<z.infer<TSchema>> {
  const file = path.join(folder, name);
  const value: unknown = existsSync(file) ? JSON.parse(await readFile(file, 'utf8')) : {};
  return parse(schema, value, file);
}

function nameOf(token: z.infer<typeof tokenName>): string {
  return typeof token === 'string' ? token : (token?.content ?? '');
}

function withoutTemplate(place: string): AgentLightningError {
  return new AgentLightningError({
    code: 'RUNTIME_REJECTED',
    message: `The model ${place} has no chat template`,
    remedy: 'Put a chat_template.jinja beside its tokenizer.json, or train a model that has one.',
  });
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
