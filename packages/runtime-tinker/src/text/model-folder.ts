import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import { AgentLightningError } from '@agentlightning/core';

/** The files of a model that its texts need, as Hugging Face names them. */
export interface ModelTextFiles {
  /** The folder that was read. */
  readonly folder: string;
  /** `tokenizer.json`. */
  readonly tokenizer: string;
  /** `tokenizer_config.json`; null without one. */
  readonly tokenizerConfig: string | null;
  /** `chat_template.jinja`; null without one. */
  readonly chatTemplate: string | null;
  /** `generation_config.json`, which lists end tokens; null without one. */
  readonly generationConfig: string | null;
  /** `config.json`, which has the sizes; null without one. */
  readonly config: string | null;
}

/**
 * Reads the tokenizer and the chat template of a model, from a folder or from the cache of Hugging Face's hub
 * (`HF_HUB_CACHE`, `HF_HOME`, `~/.cache/huggingface`). Nothing is downloaded.
 *
 * @param model A folder, or a name on the hub such as `Qwen/Qwen3-4B-Instruct-2507`.
 * @param environment The variables of the process.
 * @throws AgentLightningError `CONFIG` when no `tokenizer.json` is there.
 */
export async function readModelFolder(
  model: string,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<ModelTextFiles> {
  const cached = path.join(hubCache(environment), `models--${model.replaceAll('/', '--')}`);
  const revision = await textOrNull(path.join(cached, 'refs', 'main'));
  const snapshot = revision === null ? null : path.join(cached, 'snapshots', revision.trim());
  for (const folder of [model, ...(snapshot === null ? [] : [snapshot])]) {
    const tokenizer = await textOrNull(path.join(folder, 'tokenizer.json'));
    if (tokenizer === null) continue;
    const [tokenizerConfig, chatTemplate, generationConfig, config] = await Promise.all(
      ['tokenizer_config.json', 'chat_template.jinja', 'generation_config.json', 'config.json'].map((name) =>
        textOrNull(path.join(folder, name)),
      ),
    );
    return {
      folder,
      tokenizer,
      tokenizerConfig: tokenizerConfig ?? null,
      chatTemplate: chatTemplate ?? null,
      generationConfig: generationConfig ?? null,
      config: config ?? null,
    };
  }
  throw new AgentLightningError({
    code: 'CONFIG',
    message: `There is no tokenizer.json of the model "${model}", neither in that folder nor in ${cached}`,
    remedy: `Download it, for example with \`hf download ${model} --include "*.json" "*.jinja"\`, or set \`tokenizer\` to a folder that has it.`,
    details: { model },
  });
}

function hubCache(environment: Readonly<Record<string, string | undefined>>): string {
  const home =
    environment['HF_HOME'] ?? path.join(environment['XDG_CACHE_HOME'] ?? path.join(homedir(), '.cache'), 'huggingface');
  return environment['HF_HUB_CACHE'] ?? path.join(home, 'hub');
}

async function textOrNull(file: string): Promise<string | null> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    throw error;
  }
}
