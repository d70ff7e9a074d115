import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { byteAlphabet } from '../text/model-text.ts';

/** Special tokens of the embedded runtime's models, from id 256 on. */
const specialTokens = [
  '<|end|>',
  '<|arg|>',
  ...Array.from({ length: 10 }, (_, index) => `<|tool_${index}|>`),
  '<|system|>',
  '<|user|>',
  '<|assistant|>',
  '<|tool|>',
  '<|tools|>',
];

const chatTemplate = `{%- for message in messages -%}
{%- if message.role == 'developer' -%}<|system|>{%- else -%}<|{{ message.role }}|>{%- endif -%}
{{ message.content }}
{%- if message.role == 'assistant' -%}<|end|>{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}<|assistant|>{%- endif -%}`;

/** Writes tokenizer and chat template of the embedded runtime's models, whose tokens are bytes, as files of the Hugging Face hub. */
export async function writeTinyModelFolder(folder: string): Promise<void> {
  const added = specialTokens.map((content, index) => ({
    id: 256 + index,
    content,
    single_word: false,
    lstrip: false,
    rstrip: false,
    normalized: false,
    special: true,
  }));
  const byteLevel = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: false, use_regex: false };
  const files = {
    'tokenizer.json': {
      version: '1.0',
      truncation: null,
      padding: null,
      added_tokens: added,
      normalizer: null,
      pre_tokenizer: byteLevel,
      post_processor: null,
      decoder: byteLevel,
      model: { type: 'BPE', vocab: Object.fromEntries(byteAlphabet), merges: [], unk_token: null },
    },
    'tokenizer_config.json': { eos_token: '<|end|>', chat_template: chatTemplate },
    'config.json': { vocab_size: 273, max_position_embeddings: 2048, eos_token_id: 256 },
  };
  await mkdir(folder, { recursive: true });
  for (const [name, content] of Object.entries(files)) {
    await writeFile(path.join(folder, name), JSON.stringify(content));
  }
}
