/**
 * Writes the terms of engines (fields and routes) for the Python runtime, from the data file that the gateway reads.
 *
 * @module
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from '../repository-files.ts';

const dataFile = 'packages/core/src/chat-completion/engines.json';

/** Path of the Python module from the root of the repository. */
export const engineModule = 'apps/gpu-runtime/src/agentlightning_runtime/inference/experimental/vllm/engine_terms.py';

interface Engine {
  readonly name: string;
  readonly request: Readonly<Record<string, string | null>>;
  readonly response: { readonly promptTokenIds: string; readonly tokenIds: readonly string[] };
  readonly streamsTokenIds: boolean;
  readonly routes: Readonly<Record<string, string>>;
}

/** The text of the Python module, made from the data file. */
export function engineModuleText(): string {
  const { $schema: _, ...engines }: Record<string, Engine> & { $schema?: unknown } = JSON.parse(
    readFileSync(join(repositoryRoot, dataFile), 'utf8'),
  );
  return `"""The terms of engines: fields and routes beyond OpenAI's API.

Written by \`node tools/verify/generate-engines.ts\` from ${dataFile}: do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class EngineTerms:
    """Fields and routes of an engine. A route that it does not have is empty.

    Attributes:
        name: its name.
        token_ids_flag: parameter that requests token ids.
        prompt_token_ids_parameter: parameter with a chat's prompt as token ids.
        prompt_token_ids_field: field of a response with the prompt's token ids.
        token_ids_fields: fields of a choice with the sampled token ids, that of the newest release first.
        streams_token_ids: whether streamed chats can have token ids.
    """

    name: str
    token_ids_flag: str
    prompt_token_ids_parameter: str
    prompt_token_ids_field: str
    token_ids_fields: tuple[str, ...]
    streams_token_ids: bool
    tokenize_route: str
    generate_route: str = ""
    load_adapter_route: str = ""
    unload_adapter_route: str = ""
    reload_weights_route: str = ""
    reset_prefix_cache_route: str = ""


${Object.entries(engines).map(instanceText).join('\n')}`;
}

function instanceText([id, { name, request, response, streamsTokenIds, routes }]: [string, Engine]): string {
  const fields = [
    ['name', text(name)],
    ['token_ids_flag', text(request.tokenIds)],
    ['prompt_token_ids_parameter', text(request.promptTokenIds)],
    ['prompt_token_ids_field', text(response.promptTokenIds)],
    ['token_ids_fields', `(${response.tokenIds.map(text).join(', ')}${response.tokenIds.length === 1 ? ',' : ''})`],
    ['streams_token_ids', streamsTokenIds ? 'True' : 'False'],
    ...Object.entries(routes).map(([route, path]) => [`${snakeCase(route)}_route`, text(path)]),
  ];
  return `${id.toUpperCase()} = EngineTerms(\n${fields.map(([field, value]) => `    ${field}=${value},\n`).join('')})\n`;
}

/** A Python literal; JSON's is one. */
function text(value: string | null | undefined): string {
  return JSON.stringify(value ?? '');
}

function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

if (import.meta.main) {
  writeFileSync(join(repositoryRoot, engineModule), engineModuleText());
  console.log(`Wrote ${engineModule}`);
}
