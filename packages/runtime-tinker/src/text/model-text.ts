import { createHash } from 'node:crypto';
import { AgentLightningError } from '@agentlightning/core';
import { Tokenizer } from '@huggingface/tokenizers';
import * as z from 'zod';
import { ChatTemplate } from './chat-template.ts';
import { type ModelTextFiles, readModelFolder } from './model-folder.ts';
import { jsonOf, type ToolFormat } from './tool-format.ts';
import { toolFormatOf } from './tool-formats.ts';

/** A special token is written as its text, or as an object with it. */
const specialToken = z.union([z.string(), z.looseObject({ content: z.string() }).transform(({ content }) => content)]);

const tokenizerConfigSchema = z.looseObject({
  bos_token: specialToken.nullish(),
  eos_token: specialToken.nullish(),
  pad_token: specialToken.nullish(),
  unk_token: specialToken.nullish(),
  chat_template: z.union([z.string(), z.array(z.looseObject({ name: z.string(), template: z.string() }))]).nullish(),
});

const endTokens = z.union([z.int(), z.array(z.int())]).nullish();

const generationConfigSchema = z.looseObject({ eos_token_id: endTokens });

const configSchema = z.looseObject({
  vocab_size: z.int().min(1).optional(),
  max_position_embeddings: z.int().min(1).optional(),
  eos_token_id: endTokens,
});

/** The texts of a model: its tokenizer, chat template, end tokens and format of tool calls. */
export class ModelText {
  /** SHA-256 of `tokenizer.json`, hexadecimal. */
  readonly tokenizerSha256: string;
  /** SHA-256 of the chat template, hexadecimal. */
  readonly chatTemplateSha256: string;
  readonly template: ChatTemplate;
  readonly toolFormat: ToolFormat;
  /** The tokens that end a response. */
  readonly endTokens: ReadonlySet<number>;
  readonly vocabularySize: number;
  /** Largest number of tokens of a prompt and its response together; null: not stated. */
  readonly maxContext: number | null;
  readonly #tokenizer: Tokenizer;
  readonly #tokenTexts = new Map<number, TokenText>();

  /** @throws AgentLightningError `CONFIG` without a chat template, `VALIDATION` when a file is damaged. */
  constructor(files: ModelTextFiles) {
    const config = tokenizerConfigSchema.parse(jsonIn(files, 'tokenizer_config.json', files.tokenizerConfig ?? '{}'));
    const tokenizer = jsonIn(files, 'tokenizer.json', files.tokenizer);
    this.#tokenizer = opened(files, tokenizer, config);
    const source = files.chatTemplate ?? templateIn(config);
    if (source === undefined) throw withoutTemplate(files);
    const names = {
      bos_token: config.bos_token,
      eos_token: config.eos_token,
      pad_token: config.pad_token,
      unk_token: config.unk_token,
    };
    this.template = new ChatTemplate(source, names);
    this.toolFormat = toolFormatOf(source);
    this.tokenizerSha256 = sha256(files.tokenizer);
    this.chatTemplateSha256 = sha256(source);
    const sizes = configSchema.parse(jsonIn(files, 'config.json', files.config ?? '{}'));
    this.vocabularySize = sizes.vocab_size ?? highestToken(this.#tokenizer) + 1;
    this.maxContext = sizes.max_position_embeddings ?? null;
    this.endTokens = this.#endTokens(files, [config.eos_token, sizes.eos_token_id]);
  }

  /**
   * Reads the files of a model: see {@link readModelFolder}.
   *
   * @throws AgentLightningError `CONFIG` without them or without a chat template, `VALIDATION` when one is damaged.
   */
  static async read(model: string, environment: Readonly<Record<string, string | undefined>>): Promise<ModelText> {
    return new ModelText(await readModelFolder(model, environment));
  }

  /** The tokens of a rendered text; special tokens in it are one token each. */
  encode(text: string): readonly number[] {
    return this.#tokenizer.encode(text, { add_special_tokens: false }).ids;
  }

  decode(tokens: readonly number[], options: { readonly skipSpecialTokens: boolean }): string {
    if (tokens.length === 0) return '';
    return this.#tokenizer.decode([...tokens], {
      skip_special_tokens: options.skipSpecialTokens,
      clean_up_tokenization_spaces: false,
    });
  }

  /** The text of a single token, and its bytes: a part of a character has no text. */
  tokenText(token: number): TokenText {
    const known = this.#tokenTexts.get(token);
    if (known) return known;
    const text = this.decode([token], { skipSpecialTokens: false });
    const piece = text.includes('\ufffd') ? bytesOfPiece(this.#tokenizer.id_to_token(token) ?? '') : undefined;
    const found = { text, bytes: piece ?? [...Buffer.from(text)] };
    this.#tokenTexts.set(token, found);
    return found;
  }

  /** Those of the generation configuration, of the configuration, and the one that the tokenizer names. */
  #endTokens(
    { generationConfig }: ModelTextFiles,
    [name, configured]: readonly [string | null | undefined, z.infer<typeof endTokens>],
  ): ReadonlySet<number> {
    const listed = generationConfigSchema.safeParse(jsonOf(generationConfig ?? '{}')).data?.eos_token_id;
    const named = typeof name === 'string' ? this.#tokenizer.token_to_id(name) : undefined;
    return new Set([listed, configured, named].flatMap((tokens) => tokens ?? []));
  }
}

function highestToken(tokenizer: Tokenizer): number {
  let highest = 0;
  for (const token of tokenizer.get_vocab().values()) highest = Math.max(highest, token);
  return highest;
}

/** The text of a token and its bytes. */
export interface TokenText {
  readonly text: string;
  readonly bytes: readonly number[];
}

function jsonIn(files: ModelTextFiles, name: string, text: string): object {
  const value = jsonOf(text);
  if (typeof value === 'object' && value !== null) return value;
  throw damaged(files, name, 'it is not JSON');
}

function opened(files: ModelTextFiles, tokenizer: object, config: object): Tokenizer {
  try {
    return new Tokenizer(tokenizer, config);
  } catch (cause) {
    throw damaged(files, 'tokenizer.json', cause instanceof Error ? cause.message : 'it has another format');
  }
}

function damaged(files: ModelTextFiles, name: string, reason: string): AgentLightningError {
  return new AgentLightningError({
    code: 'VALIDATION',
    message: `${files.folder}/${name} is not usable: ${reason}`,
    remedy: 'Download the files of the model again.',
  });
}

function withoutTemplate({ folder }: ModelTextFiles): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFIG',
    message: `The model in ${folder} has no chat template, neither in chat_template.jinja nor in tokenizer_config.json`,
    remedy:
      'Train an instruct model, or set `tokenizer` to a folder with the tokenizer of the model and the `chat_template.jinja` to train it with.',
  });
}

function templateIn({ chat_template: template }: z.infer<typeof tokenizerConfigSchema>): string | undefined {
  if (typeof template === 'string') return template;
  const named = template ?? [];
  return (named.find(({ name }) => name === 'tool_use') ?? named.find(({ name }) => name === 'default'))?.template;
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** The bytes of a token that is a part of a character: `<0x0A>`, or the characters of a byte-level vocabulary. */
function bytesOfPiece(piece: string): readonly number[] | undefined {
  const single = /^<0x([0-9A-F]{2})>$/.exec(piece)?.[1];
  if (single !== undefined) return [Number.parseInt(single, 16)];
  const bytes = Array.from(piece, (character) => byteAlphabet.get(character));
  return bytes.every((byte) => byte !== undefined) ? bytes : undefined;
}

/** The characters that represent bytes in byte-level vocabularies (Radford et al. 2019). */
export const byteAlphabet: ReadonlyMap<string, number> = (() => {
  const isPrintable = (byte: number): boolean =>
    (byte >= 33 && byte < 127) || (byte >= 161 && byte < 173) || byte >= 174;
  const bytes = Array.from({ length: 256 }, (_, byte) => byte);
  const others = bytes.filter((byte) => !isPrintable(byte));
  return new Map([
    ...bytes.filter(isPrintable).map((byte) => [String.fromCodePoint(byte), byte] as const),
    ...others.map((byte, index) => [String.fromCodePoint(256 + index), byte] as const),
  ]);
})();
